#!/usr/bin/env python3
"""PyTorch's side of `benches/run`, and with --memory of `benches/memory`: the work of `benches/rows` under the same names.

Needs a Python with torch, torchvision, timm and transformers. It answers requests like `benches/rows/mod.rs`.
"""

import os
import sys

import gradients
import networks
import operations
import published
import small_shapes
import tensor_operations
import torch
from row import Rows


def main():
    torch.set_num_threads(int(os.environ.get("THREADS", 1)))
    torch.manual_seed(0)
    rows = Rows()
    operations.add(rows)
    networks.add(rows)
    published.add(rows)
    tensor_operations.add(rows)
    gradients.add(rows)
    small_shapes.add(rows)
    rows.serve(rows.memory if "--memory" in sys.argv else rows.time)


if __name__ == "__main__":
    main()
