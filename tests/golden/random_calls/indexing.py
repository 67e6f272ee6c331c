"""Choosing, writing, joining and padding elements."""

import math

import torch

from .call import Call
from .draw import INTEGERS


def drawn(draw):
    """A shape with elements, and one of its dimensions."""
    shape = draw.shape(least=1, empty=False)
    return shape, draw.between(0, len(shape) - 1)


def counted(draw, size):
    """How many indices there are into `size` elements."""
    return draw.pick([1, 3, size, 2 * size])


def gather(draw):
    shape, dim = drawn(draw)
    op = draw.pick(["gather", "take_along_dim"])
    chosen = [draw.between(1, size) if op == "gather" else size for size in shape]
    chosen[dim] = counted(draw, shape[dim])
    x, index = draw.tensor(shape, draw.float()), draw.indices(chosen, shape[dim])
    return Call(op, [x, dim, index] if op == "gather" else [x, index, dim], out="exact")


def different(draw, shape, dim, size):
    """Indices below `size` of which no two along `dim` are equal: PyTorch does not say which write wins."""
    rest = [count for i, count in enumerate(shape) if i != dim]
    rows = [draw.order(size)[:shape[dim]] for _ in range(math.prod(rest))]
    return torch.tensor(rows).reshape(*rest, shape[dim]).movedim(-1, dim)


def scatter(draw):
    shape, dim = drawn(draw)
    dtype, adds = draw.float(), draw.chance(0.5)
    x = draw.tensor(shape, dtype)
    written = [draw.between(1, size) if draw.chance(0.5) else size for size in shape]
    if adds:
        index = draw.indices(written, shape[dim])
    else:
        index = draw.tensor(written, "i64", plain=True, values=lambda base: different(draw, base, dim, shape[dim]))
    return Call("scatter_add" if adds else "scatter", [x, dim, index, draw.tensor(written, dtype)],
                out="contraction" if adds else "exact")


def reduced(draw):
    """Several elements of the source fall on one of the input."""
    shape, dim = drawn(draw)
    dtype, reduce = draw.float(), draw.pick(["sum", "prod", "mean", "amax", "amin"])
    written = [draw.between(1, size) for size in shape]
    x, index, source = draw.tensor(shape, dtype), draw.indices(written, shape[dim]), draw.tensor(written, dtype)
    named = {} if draw.chance(0.5) else {"include_self": False}
    return Call(f"scatter_reduce.{reduce}", [x, dim, index, source, reduce], named)


def rows(draw):
    shape, dim = drawn(draw)
    dtype, size = draw.float(), shape[dim]
    op = draw.pick(["index_select", "index_add", "index_copy"])
    x, count = draw.tensor(shape, dtype), counted(draw, size)
    if op == "index_copy":
        count = min(count, size)
        index = draw.tensor([count], "i64", plain=True, values=lambda base: torch.tensor(draw.order(size)[:count]))
    else:
        index = draw.indices([count], size)
    if op == "index_select":
        return Call(op, [x, dim, index], out="exact")
    source = draw.tensor([*shape[:dim], count, *shape[dim + 1:]], dtype)
    return Call(op, [x, dim, index, source], out="contraction" if op == "index_add" else "exact")


def masked(draw):
    shape, dim = drawn(draw)
    dtype, op = draw.float(), draw.pick(["masked_fill", "masked_select", "where"])
    x, mask = draw.tensor(shape, dtype), draw.tensor(shape, "bool")
    if op == "where":
        other = [1 if i == dim and draw.chance(0.4) else size for i, size in enumerate(shape)]
        return Call(op, [x, mask, draw.tensor(other, dtype)], out="exact")
    return Call(op, [x, mask, *([2.0] if op == "masked_fill" else [])], out="exact")


def chosen(draw):
    shape, dim = drawn(draw)
    dtype = draw.float()
    # Half precision has equal elements, of which PyTorch takes any.
    x = draw.tensor(shape, dtype, grad=dtype in ("f32", "f64"))
    return Call("topk", [x, draw.between(1, shape[dim]), dim], out="exact", only_values=True)


def triangle(draw):
    shape = draw.shape(least=2, empty=False)
    dtype = draw.pick([*INTEGERS, "bool"]) if draw.chance(0.2) else draw.float()
    return Call(draw.pick(["tril", "triu"]), [draw.tensor(shape, dtype), draw.between(-3, 4)], out="exact")


def pad(draw):
    shape = draw.shape(least=1, empty=False)
    amounts = [draw.between(-1, 3) if draw.chance(0.2) else draw.between(0, 3)
               for _ in range(2 * draw.between(1, len(shape)))]
    for i in range(len(amounts) // 2):
        if shape[-1 - i] + amounts[2 * i] + amounts[2 * i + 1] < 1:
            return None
    x = draw.tensor(shape, draw.float())
    return Call("nn.functional.pad.constant", [x, amounts, "constant", draw.pick([0.0, 1.5])], out="exact")


def cat(draw):
    shape, dim = drawn(draw)
    dtype = draw.float()
    more = [draw.between(1, 5) if i == dim else size for i, size in enumerate(shape)]
    return Call("cat", [[draw.tensor(shape, dtype), draw.tensor(more, dtype)], dim], out="exact")


def table(draw):
    """Rows of a table, or of the identity matrix."""
    shape = draw.shape(empty=False)
    if draw.chance(0.3):
        classes = draw.between(1, 20)
        return Call("nn.functional.one_hot", [draw.indices(shape, classes), classes], out="exact")
    count = draw.between(2, 10 if draw.small else 40)
    weight = draw.tensor([count, draw.pick([1, 3, 16, 33])], draw.float())
    return Call("nn.functional.embedding", [weight, draw.indices(shape, count)], out="exact")


KINDS = [gather, gather, scatter, scatter, reduced, rows, rows, rows, masked, masked, chosen, triangle, pad, cat, table]


def index(draw):
    return draw.pick(KINDS)(draw)
