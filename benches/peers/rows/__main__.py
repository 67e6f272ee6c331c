#!/usr/bin/env python3
"""PyTorch's side of `benches/run`: performs the work of `benches/rows` under the same names.

Needs a Python with torch, torchvision, timm and transformers. It answers requests like `benches/rows/main.rs`.
"""

import os

import networks
import operations
import published
import torch
from row import Rows


def main():
    torch.set_num_threads(int(os.environ.get("THREADS", 1)))
    torch.manual_seed(0)
    rows = Rows()
    operations.add(rows)
    networks.add(rows)
    published.add(rows)
    rows.serve()


if __name__ == "__main__":
    main()
