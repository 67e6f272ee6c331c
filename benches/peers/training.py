#!/usr/bin/env python3
"""What steps of training cost in PyTorch: the peer of `benches/training.rs`.

Needs a Python with torch. Usage: python benches/peers/training.py
"""

import os

import torch
from module import nanoseconds
from torch import nn


def main():
    torch.set_num_threads(int(os.environ.get("THREADS", 1)))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    x, target = torch.randn(64, 784), torch.arange(64) % 10

    def backward():
        loss = nn.functional.cross_entropy(model(x), target)
        optimizer.zero_grad()
        loss.backward()

    def step():
        backward()
        optimizer.step()

    def forward():
        with torch.no_grad():
            model(x)

    step()
    for name, run in (
        ("forward", forward),
        ("forward and backward", backward),
        ("AdamW", optimizer.step),
        ("training step", step),
    ):
        print(f"{name:20} {nanoseconds(run, 1) / 1000:9.1f} µs")


if __name__ == "__main__":
    main()
