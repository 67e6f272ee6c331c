"""Convolutions, pooling and sampling."""

import math

from .call import Call


def channels(draw):
    """Groups, and input and output channels; in some convolutions each channel is a group."""
    groups = draw.pick([1, 1, 1, 2, 4])
    if draw.chance(0.15):
        count = draw.pick([8, 16, 33])
        return count, count, count
    if draw.small:
        return groups, groups * draw.pick([1, 2, 3, 8]), groups * draw.pick([1, 2, 5, 8, 17])
    return groups, groups * draw.pick([1, 1, 2, 3, 8, 16]), groups * draw.pick([1, 1, 2, 5, 8, 16, 24])


def convolution(draw):
    dtype = draw.pick(["f32", "f32", "f32", "f32", "f64", "f16", "bf16"])
    dims, transposed = draw.pick([1, 2, 2, 2, 3]), draw.chance(0.25)
    groups, inputs, outputs = channels(draw)
    if draw.chance(0.3):
        kernel = [draw.pick([1, 2, 3, 3, 3, 4, 5, 7]) for _ in range(dims)]
    else:
        kernel = [draw.pick([1, 3, 3, 3, 5, 7])] * dims
    stride, dilation = [draw.pick([1, 1, 2, 2, 3])] * dims, [draw.pick([1, 1, 1, 2])] * dims
    padding = [draw.between(0, size - 1 if transposed else size // 2) for size in kernel]
    # A kernel may be longer than the input, as long as padding makes up for it.
    more = 3 if draw.small or draw.chance(0.3) else {1: 40, 2: 20, 3: 9}[dims]
    size = []
    for k, p, d in zip(kernel, padding, dilation):
        least = max(1, d * (k - 1) + 1 - 2 * p)
        size.append(draw.between(least, least + more))
    weight = [inputs, outputs // groups] if transposed else [outputs, inputs // groups]
    x, w = draw.tensor([draw.pick([1, 2, 3]), inputs, *size], dtype), draw.tensor(weight + kernel, dtype)
    bias = draw.tensor([outputs], dtype) if draw.chance(0.2) else None
    if transposed:
        if any((n - 1) * s - 2 * p + d * (k - 1) + 1 < 1 for n, s, p, d, k in zip(size, stride, padding, dilation, kernel)):
            return None
        return Call(f"nn.functional.conv_transpose{dims}d", [x, w, bias, stride, padding, 0, groups, dilation])
    return Call(f"nn.functional.conv{dims}d", [x, w, bias, stride, padding, dilation, groups])


def pool(draw):
    dims = draw.pick([1, 2, 2, 2, 3])
    kernel, stride = [draw.between(1, 4)] * dims, [draw.between(1, 3)] * dims
    padding = [draw.between(0, kernel[0] // 2)] * dims
    longest = 9 if draw.small or dims == 3 else 30
    size = [draw.between(4, longest) for _ in kernel]
    shape = [draw.pick([1, 2]), draw.pick([1, 3]) if draw.small else draw.pick([1, 3, 16]), *size]
    if draw.small and math.prod(shape) > 300:
        return None
    x, kind = draw.tensor(shape, draw.float()), draw.pick(["max", "avg"])
    return Call(f"nn.functional.{kind}_pool{dims}d", [x, kernel, stride, padding],
                out="exact" if kind == "max" else "contraction")


def sample(draw):
    dims = draw.pick([2, 2, 2, 3])
    mode = draw.pick(["bilinear", "bilinear", "nearest"] if dims == 3 else ["bilinear", "bilinear", "nearest", "bicubic"])
    dtype = draw.pick(["f32", "f32", "f64"])
    size = [draw.between(1, 9 if dims == 3 else 20) for _ in range(dims)]
    out = [draw.between(1, 6 if dims == 3 else 25) for _ in range(dims)]
    batch, count = draw.pick([1, 2, 3]), draw.pick([1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33])
    x, grid = draw.tensor([batch, count, *size], dtype), draw.tensor([batch, *out, dims], dtype)
    return Call("nn.functional.grid_sample", [x, grid, mode, draw.pick(["zeros", "border", "reflection"]), draw.chance(0.5)])
