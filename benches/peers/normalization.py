#!/usr/bin/env python3
"""PyTorch's normalizations, softmax, attention and cross-entropy: the peer of `benches/normalization.rs`.

Needs a Python with torch. Usage: python benches/peers/normalization.py
"""

import os

import torch
from module import nanoseconds
from torch.nn import functional as F


def both(name, shapes, f):
    """Measure `f` alone, and with the gradients of all inputs."""
    inputs = [torch.randn(shape) for shape in shapes]
    leaves = [x.clone().requires_grad_() for x in inputs]
    grad = torch.ones_like(f(*inputs))

    def backward():
        for leaf in leaves:
            leaf.grad = None
        f(*leaves).backward(grad)

    with torch.no_grad():
        forward = nanoseconds(lambda: f(*inputs), 1)
    print(f"{name:40} {forward / 1000:9.1f} {nanoseconds(backward, 1) / 1000:9.1f} µs")


def main():
    torch.set_num_threads(int(os.environ.get("THREADS", 1)))
    torch.manual_seed(0)
    wide, image, flat = [[256, 1024], [1024], [1024]], [[8, 64, 32, 32], [64], [64]], [[1024, 256], [256], [256]]
    deep = [8, 256, 128]
    print(f"{'':40} {'forward':>9} {'and back':>9}")
    both("layer_norm [256, 1024]", wide, lambda x, w, b: F.layer_norm(x, [1024], w, b))
    both("rms_norm [256, 1024]", wide[:2], lambda x, w: F.rms_norm(x, [1024], w, 1e-6))
    both("group_norm [8, 64, 32, 32], 8", image, lambda x, w, b: F.group_norm(x, 8, w, b))
    both("batch_norm [8, 64, 32, 32]", image, lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True))
    both("batch_norm [1024, 256]", flat, lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True))
    mean, var = torch.randn(64), torch.rand(64)
    both("batch_norm [8, 64, 32, 32], evaluation", image, lambda x, w, b: F.batch_norm(x, mean, var, w, b))
    for name, f in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax), ("logsumexp", torch.logsumexp)):
        both(f"{name} [256, 1024]", wide[:1], lambda x: f(x, -1))
        both(f"{name} [8, 256, 128], 1", [deep], lambda x: f(x, 1))
    target = torch.arange(256) * 37 % 100
    both("cross_entropy [256, 1024]", wide[:1], lambda x: F.cross_entropy(x, target))
    target = (torch.arange(1024) * 37 % 100).reshape(8, 128)
    both("cross_entropy [8, 256, 128]", [deep], lambda x: F.cross_entropy(x, target))
    heads = [[2, 8, 256, 64]] * 3
    both("attention [2, 8, 256, 64]", heads, F.scaled_dot_product_attention)
    both("attention [2, 8, 256, 64], causal", heads, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))


if __name__ == "__main__":
    main()
