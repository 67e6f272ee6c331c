#!/usr/bin/env python3
"""What PyTorch's convolutions, pooling and interpolation cost: the peer of `benches/convolution.rs`.

Needs a Python with torch. Usage: python benches/peers/convolution.py
"""

import os

import torch
import torch.nn.functional as F
from module import nanoseconds

IMAGE = [8, 64, 56, 56]
CASES = [
    ("conv2d 3x3", [IMAGE, [64, 64, 3, 3]], lambda x, w: F.conv2d(x, w, padding=1)),
    ("conv2d 3x3, stride 2", [IMAGE, [128, 64, 3, 3]], lambda x, w: F.conv2d(x, w, stride=2, padding=1)),
    ("conv2d 1x1", [IMAGE, [64, 64, 1, 1]], F.conv2d),
    ("conv2d 3x3, depthwise", [IMAGE, [64, 1, 3, 3]], lambda x, w: F.conv2d(x, w, padding=1, groups=64)),
    ("conv2d 3x3, 256 channels of 14x14", [[8, 256, 14, 14], [256, 256, 3, 3]], lambda x, w: F.conv2d(x, w, padding=1)),
    ("conv2d 7x7, stride 2, 3 channels of 224x224", [[1, 3, 224, 224], [64, 3, 7, 7]], lambda x, w: F.conv2d(x, w, stride=2, padding=3)),
    ("conv1d 9, 64 channels of 4000", [[8, 64, 4000], [64, 64, 9]], lambda x, w: F.conv1d(x, w, padding=4)),
    ("conv3d 3x3x3, 16 channels of 16x28x28", [[2, 16, 16, 28, 28], [16, 16, 3, 3, 3]], lambda x, w: F.conv3d(x, w, padding=1)),
    ("conv_transpose2d 4x4, stride 2, 28x28", [[8, 64, 28, 28], [64, 32, 4, 4]], lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1)),
    ("im2col 3x3", [IMAGE], lambda x: F.unfold(x, 3, padding=1)),
    ("max_pool2d 2x2", [IMAGE], lambda x: F.max_pool2d(x, 2)),
    ("max_pool2d 3x3, stride 2", [IMAGE], lambda x: F.max_pool2d(x, 3, 2, 1)),
    ("avg_pool2d 2x2", [IMAGE], lambda x: F.avg_pool2d(x, 2)),
    ("avg_pool2d 3x3, stride 1", [IMAGE], lambda x: F.avg_pool2d(x, 3, 1, 1)),
    ("adaptive_avg_pool2d to 1", [IMAGE], lambda x: F.adaptive_avg_pool2d(x, 1)),
    ("adaptive_max_pool2d to 7", [IMAGE], lambda x: F.adaptive_max_pool2d(x, 7)),
    ("interpolate nearest, by 2", [[8, 64, 28, 28]], lambda x: F.interpolate(x, scale_factor=2)),
    ("interpolate bilinear, by 2", [[8, 64, 28, 28]], lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")),
    ("interpolate bicubic, by 2", [[8, 64, 28, 28]], lambda x: F.interpolate(x, scale_factor=2, mode="bicubic")),
]


def main():
    torch.set_num_threads(int(os.environ.get("THREADS", 1)))
    print(f"{'milliseconds':44} {'forward':>8} {'and backward':>13}")
    for name, shapes, f in CASES:
        inputs = [torch.randn(shape) for shape in shapes]
        leaves = [x.clone().requires_grad_() for x in inputs]
        grad = torch.ones_like(f(*inputs))

        def both():
            for x in leaves:
                x.grad = None
            f(*leaves).backward(grad)

        forward = nanoseconds(lambda: f(*inputs), 1, repeats=7) / 1e6
        print(f"{name:44} {forward:8.2f} {nanoseconds(both, 1, repeats=7) / 1e6:13.2f}", flush=True)


if __name__ == "__main__":
    main()
