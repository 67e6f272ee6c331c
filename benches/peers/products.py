#!/usr/bin/env python3
"""PyTorch's products of matrices, and the layers whose time they are: the peer of `benches/products.rs`.

Needs a Python with torch. Usage: python benches/peers/products.py
"""

import os
import time

import torch
from torch.nn import functional as F


def measure(name, products, f):
    """Print the least time of `f`, and its rate for so many multiply-adds."""
    f()
    least, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < 0.4:
        start = time.perf_counter()
        f()
        least = min(least, time.perf_counter() - start)
    print(f"{name:44} {least * 1e6:10.1f} µs {2 * products / least / 1e9:7.1f} GFLOP/s")


def both(name, products, inputs, f):
    """The time of `f`, and that of `f` with the gradients of its inputs."""
    with torch.no_grad():
        measure(name, products, lambda: f(*inputs))
    leaves = [x.clone().requires_grad_() for x in inputs]
    grad = torch.ones_like(f(*inputs))

    def backward():
        for leaf in leaves:
            leaf.grad = None
        f(*leaves).backward(grad)

    measure(f"{name}, and backward", 3 * products, backward)


def products():
    for m, k, n in [(512, 512, 512), (1024, 1024, 1024), (2048, 768, 768), (64, 784, 512), (512, 64, 784), (64, 64, 64),
                    (32, 32, 32), (16, 16, 16), (8, 1024, 1024), (4, 1024, 4096), (1, 1024, 4096)]:
        a, b = torch.randn(m, k), torch.randn(k, n)
        at, bt = torch.randn(k, m).t(), torch.randn(n, k).t()
        size = f"{m}x{k}x{n}"
        measure(size, m * k * n, lambda: a @ b)
        measure(f"{size}, b transposed", m * k * n, lambda: a @ bt)
        measure(f"{size}, a transposed", m * k * n, lambda: at @ b)
        measure(f"{size}, both transposed", m * k * n, lambda: at @ bt)
    both("batch of 96, 128x64x128", 96 * 128 * 64 * 128, [torch.randn(96, 128, 64), torch.randn(96, 64, 128)], torch.matmul)


def layers():
    for rows, name in [(1, "float32"), (1, "bfloat16"), (1, "float16"), (64, "bfloat16")]:
        dtype = getattr(torch, name)
        x, w = torch.randn(rows, 1024).to(dtype), torch.randn(4096, 1024).to(dtype)
        with torch.no_grad():
            measure(f"linear 1024 to 4096, {rows} rows, {name}", rows * 1024 * 4096, lambda: F.linear(x, w))
    inputs = [torch.randn(2, 8, 256, 64) for _ in range(3)]
    padding = (torch.arange(256) < 200).reshape(1, 1, 1, 256)
    masks = [("", None), (", padding mask", padding.expand(2, 8, 256, 256)),
             (", padding mask of sequences", padding.expand(2, 1, 1, 256))]
    for name, mask in masks:
        both(f"attention [2, 8, 256, 64]{name}", 2 * 8 * 256 * 256 * 128, inputs,
             lambda q, k, v, mask=mask: F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
    both("relu [64, 4096]", 64 * 4096, [torch.randn(64, 4096)], F.relu)
    for batch, channels, size in [(8, 512, 2), (8, 512, 4), (1, 512, 7), (8, 512, 7), (8, 64, 56)]:
        inputs = [torch.randn(batch, channels, size, size), torch.randn(channels, channels, 3, 3)]
        both(f"conv2d 3x3, [{batch}, {channels}, {size}, {size}]", batch * channels * channels * 9 * size * size, inputs,
             lambda x, w: F.conv2d(x, w, padding=1))


def main():
    torch.set_num_threads(int(os.environ.get("THREADS", 1)))
    torch.manual_seed(0)
    products()
    layers()


if __name__ == "__main__":
    main()
