#!/usr/bin/env python3
"""PyTorch's side of `benches/run`, and with --memory or --resident of `benches/memory`: the work of `benches/rows` under the
same names.

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
    measures = {"--memory": rows.memory, "--resident": rows.resident}
    if "--resident" in sys.argv:
        warm_up()
    rows.serve(next((measure for option, measure in measures.items() if option in sys.argv), rows.time))


def warm_up():
    """Loads what PyTorch loads when it is first used, so that this counts for no row."""
    layers = torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Flatten(), torch.nn.Linear(288, 8), torch.nn.GELU()
    model = torch.nn.Sequential(*layers, torch.nn.LayerNorm(8))
    for optimizer in torch.optim.SGD, torch.optim.AdamW:
        step = optimizer(model.parameters())
        for _ in range(2):
            query = model(torch.randn(2, 3, 8, 8)).view(1, 1, 2, 8)
            torch.nn.functional.scaled_dot_product_attention(query, query, query).sum().backward()
            step.step()


if __name__ == "__main__":
    main()
