"""The peer of `benches/rows/tensor_operations.rs`."""

import torch
from row import forward
from torch.nn import functional as F


def numbers():
    return torch.randn(512, 1024)


def of_pairs():
    """Operations on two tensors of numbers."""
    yield "amax", lambda x, y: x.amax()
    yield "amax of rows", lambda x, y: x.amax(1)
    yield "amax of columns", lambda x, y: x.amax(0)
    yield "argmax of rows", lambda x, y: x.argmax(1)
    yield "argmax of columns", lambda x, y: x.argmax(0)
    yield "prod of rows", lambda x, y: x.prod(1)
    yield "var of rows", lambda x, y: x.var(1)
    yield "norm", lambda x, y: torch.linalg.vector_norm(x)
    yield "cumsum of rows", lambda x, y: x.cumsum(1)
    yield "sort rows", lambda x, y: x.sort(1)
    yield "topk of rows, 10", lambda x, y: x.topk(10, 1)
    yield "maximum", torch.maximum
    yield "gt", lambda x, y: x > 0
    yield "clamp", lambda x, y: x.clamp(-1, 1)
    for name in ("sin", "cos", "tan", "atan", "expm1", "erf"):
        yield name, lambda x, y, f=getattr(torch, name): f(x)
    for name in ("softplus", "logsigmoid", "elu", "mish"):
        yield name, lambda x, y, f=getattr(F, name): f(x)
    for name, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16), ("i64", torch.int64)):
        yield f"to {name}", lambda x, y, dtype=dtype: x.to(dtype)
    yield "flip", lambda x, y: x.flip(1)
    yield "remainder by 0.7", lambda x, y: x.remainder(0.7)
    yield "remainder", torch.remainder
    yield "fmod by 0.7", lambda x, y: x.fmod(0.7)
    yield "floor_divide by 0.7", lambda x, y: x.floor_divide(0.7)
    yield "trunc", lambda x, y: x.trunc()
    yield "copysign", torch.copysign
    yield "nan_to_num", lambda x, y: x.nan_to_num()
    yield "glu", lambda x, y: F.glu(x, 1)
    yield "sum of rows of the transpose", lambda x, y: x.t().sum(1)
    yield "copy of every second column", lambda x, y: x[:, ::2].contiguous()
    yield "tril", lambda x, y: x.tril()
    yield "triu", lambda x, y: x.triu()


def of_positive():
    """Operations on a tensor of positive numbers and one of any."""
    for name in ("sqrt", "rsqrt", "log", "log1p"):
        yield name, lambda x, y, f=getattr(torch, name): f(x)
    yield "pow", lambda x, y: x.pow(y)
    yield "pow 1.5", lambda x, y: x.pow(1.5)
    yield "div", lambda x, y: y / x


def of_masked():
    """Operations on two tensors of numbers and a condition."""
    yield "where", lambda x, y, mask: torch.where(mask, x, y)
    yield "masked_fill", lambda x, y, mask: x.masked_fill(mask, 0.0)
    yield "masked_select", lambda x, y, mask: x.masked_select(mask)
    yield "nonzero", lambda x, y, mask: mask.nonzero()
    yield "any", lambda x, y, mask: mask.logical_not().any()
    yield "to f32 of bool", lambda x, y, mask: mask.float()


def of_indexed():
    """Operations on numbers and whole numbers from 0 to 1023."""
    yield "gather", lambda x, index: x.gather(1, index)
    yield "scatter_add", lambda x, index: x.scatter_add(1, index, x)
    yield "index_select of columns", lambda x, index: x.index_select(1, index[0])
    yield "unique", lambda x, index: index.unique()
    yield "bincount", lambda x, index: index.flatten().bincount()
    yield "one_hot of 4 rows", lambda x, index: F.one_hot(index[:4], 1024)


def of_sorted():
    """Operations on numbers and a sorted vector of numbers."""
    yield "searchsorted in 1000", lambda x, sorted: torch.searchsorted(sorted, x)


def of_bf16():
    yield "add bf16", torch.add
    yield "gelu bf16", lambda x, y: F.gelu(x)
    yield "softmax of rows, bf16", lambda x, y: x.softmax(1)
    yield "sum of rows, bf16", lambda x, y: x.sum(1)
    yield "to f32 of bf16", lambda x, y: x.float()


def of_f16():
    yield "add f16", torch.add


def of_images():
    """Operations on images, and on numbers for their channels and for their lines."""
    yield "add channels", lambda x, channels, lines: x + channels
    yield "mul lines", lambda x, channels, lines: x * lines
    yield "sum of dimension 1", lambda x, channels, lines: x.sum(1)
    yield "mean of dimensions 2 and 3", lambda x, channels, lines: x.mean((2, 3))
    yield "permute and copy", lambda x, channels, lines: x.permute(0, 2, 3, 1).contiguous()
    yield "pad", lambda x, channels, lines: F.pad(x, (1, 1, 1, 1))


def of_other_shapes():
    """Operations on one tensor, with its shape."""
    yield "channels first", (4, 224, 224, 3), lambda x: x.permute(0, 3, 1, 2).contiguous()
    yield "channels last", (4, 3, 224, 224), lambda x: x.permute(0, 2, 3, 1).contiguous()
    yield "sum of dimension 1", (64, 64, 128), lambda x: x.sum(1)
    yield "amax of dimension 1", (64, 64, 128), lambda x: x.amax(1)
    yield "dot with itself", (100000,), lambda x: x.dot(x)


def of_halves():
    """Operations on the halves of rows."""
    yield "mul halves", torch.mul
    yield "relu of a half", lambda x, y: x.relu()
    yield "exp of a half", lambda x, y: x.exp()
    yield "copy of a half", lambda x, y: x.contiguous()


def masked():
    x = numbers()
    return [x, numbers(), x > 0]


def indexed():
    x = numbers()
    return [x, (x * 300).abs().long() % 1024]


def images():
    return [torch.randn(8, 32, 64, 64), torch.randn(32, 1, 1), torch.randn(64, 1)]


def add(rows):
    families = [
        (of_pairs, lambda: [numbers(), numbers()]),
        (of_positive, lambda: [numbers().abs() + 0.1, numbers()]),
        (of_masked, masked),
        (of_indexed, indexed),
        (of_sorted, lambda: [numbers(), torch.arange(1000.0) / 200 - 2.5]),
        (of_bf16, lambda: [numbers().bfloat16(), numbers().bfloat16()]),
        (of_f16, lambda: [numbers().half(), numbers().half()]),
    ]
    for operations, inputs in families:
        for name, f in operations():
            rows.add(f"{name} [512, 1024]", lambda f=f, inputs=inputs: forward(f, inputs()))
    for name, f in of_images():
        rows.add(f"{name} [8, 32, 64, 64]", lambda f=f: forward(f, images()))
    for width in (8, 16, 32, 64):
        shape = [65536 // width, 2 * width]
        for name, f in of_halves():
            rows.add(f"{name} {shape}", lambda f=f, shape=shape: forward(f, torch.randn(shape).chunk(2, 1)))
    rows.both("mul columns by rows [256, 256, 1] [256, 1, 16]", [(256, 256, 1), (256, 1, 16)], torch.mul)
    rows.both("prelu [8, 32, 64, 64]", [(8, 32, 64, 64), (32,)], F.prelu)
    for name, shape, f in of_other_shapes():
        rows.add(f"{name} {list(shape)}", lambda f=f, shape=shape: forward(f, [torch.randn(shape)]))
    rows.add("rand [512, 1024]", lambda: lambda: torch.rand(512, 1024))
    rows.add("randn [512, 1024]", lambda: lambda: torch.randn(512, 1024))
    rows.add("randperm 100000", lambda: lambda: torch.randperm(100000))
