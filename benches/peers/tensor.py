#!/usr/bin/env python3
"""The cost of PyTorch's tensors and autograd beyond the arithmetic: the peer of `benches/tensor.rs`.

Needs a Python with torch. Usage: python benches/peers/tensor.py
"""

import os

import torch
from module import nanoseconds
from torch import nn


def step(model, optimizer, x, y):
    """One step of training."""
    loss = (model(x) - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def unbind(x):
    """A loop over all parts of a tensor."""
    parts = x.unbind(0)
    return torch.autograd.grad(parts, x, [torch.ones_like(part) for part in parts])


def main():
    torch.set_num_threads(int(os.environ.get("THREADS", 1)))
    a, b = torch.ones(1), torch.ones(1)
    tracked = torch.ones(1, requires_grad=True)
    print(f"add, untracked    {nanoseconds(lambda: a + b, 1):9.0f} ns")
    print(f"add, tracked      {nanoseconds(lambda: tracked + b, 1):9.0f} ns")
    print(f"mul by a number   {nanoseconds(lambda: a * 2.0, 1):9.0f} ns")
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    x, y = torch.randn(8, 2), torch.randn(8, 1)
    print(f"training step     {nanoseconds(lambda: step(model, optimizer, x, y), 1):9.0f} ns")
    for count in (10, 100, 1000, 10_000):
        x = torch.randn(count, 16, requires_grad=True)
        print(f"unbind and backward, {count} parts {nanoseconds(lambda x=x: unbind(x), 1):9.0f} ns")


if __name__ == "__main__":
    main()
