#!/usr/bin/env python3
"""The cost of a transformer layer in PyTorch: the peer of `benches/transformer.rs`.

Needs a Python with torch. Usage: python benches/peers/transformer.py
"""

import torch
from module import nanoseconds
from torch import nn


def encoder_layer(dropout):
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout, batch_first=True)
    x = torch.randn(8, 64, 256)
    leaf, grad = x.clone().requires_grad_(), torch.ones_like(x)

    def forward():
        with torch.no_grad():
            layer(x)

    def backward():
        layer.zero_grad()
        leaf.grad = None
        layer(leaf).backward(grad)

    for name, run in (("forward", forward), ("forward and backward", backward)):
        print(f"dropout {dropout}: {name:20} {nanoseconds(run, 1) / 1000:9.1f} µs")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    encoder_layer(0.0)
    encoder_layer(0.1)


if __name__ == "__main__":
    main()
