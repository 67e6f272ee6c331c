"""Reductions over dimensions, and functions of each row."""

import math

import torch

from .call import Call
from .draw import FLOATS, INTEGERS

OVER_SEVERAL = "sum mean amax amin any all logsumexp var std linalg.vector_norm count_nonzero".split()
OVER_ONE = "prod argmax argmin max.reduction_with_dim min.reduction_with_dim median".split()
EXACT = ("any", "all", "median")
# 0 and -0 are equal.
EXTREMES = ("amax", "amin", "max.reduction_with_dim", "min.reduction_with_dim")
# A sum may cancel.
SUMS = ("sum", "mean")
# With NaN or infinity, their choice among several is PyTorch's own.
CHOOSES = ("argmax", "argmin", "median", "max.reduction_with_dim", "min.reduction_with_dim")


def factors(draw, dtype):
    """Numbers whose products neither overflow nor vanish, where those of other numbers depend on the order."""
    def values(base):
        if dtype not in FLOATS:
            return draw.values(base, dtype)
        # Products of many in f16 would exceed 65504.
        spread = 0.05 if dtype == "f16" and max(base, default=1) > 64 else 0.25
        return torch.tensor(draw.state.uniform(1 - spread, 1 + 1.2 * spread, size=base))

    return values


OF_NOTHING = ("sum", "prod", "any", "all")


def dtype_of(draw, op):
    if op in ("any", "all"):
        # PyTorch's result for `u8` is `u8`.
        return "bool" if draw.chance(0.5) else draw.pick(["f32", "f64", "i64", "i32"])
    if op in ("sum", "prod", "amax", "amin", "count_nonzero", "argmin") and draw.chance(0.3):
        return draw.pick(INTEGERS)
    if op in ("sum", "count_nonzero") and draw.chance(0.1):
        return "bool"
    return draw.float()


def reduce(draw):
    op, special = draw.pick(OVER_SEVERAL + OVER_ONE), draw.chance(0.25)
    dtype = dtype_of(draw, op)
    shape = draw.shape(least=1, empty=op in OF_NOTHING)
    # The square of 1e30 overflows in f32.
    special = special and op not in (*CHOOSES, "prod", "std", "var")
    x = draw.tensor(shape, dtype, special, grad=not special, values=factors(draw, dtype) if op == "prod" else None)
    if op in ("std", "var") and x.is_expanded:
        # Equal elements have no direction in which they differ.
        return None
    named = {"dim": draw.between(0, len(shape) - 1) if op in OVER_ONE else draw.some(len(shape))}
    if op != "count_nonzero" and draw.chance(0.4):
        named["keepdim"] = True
    if op in ("var", "std"):
        named["correction"] = 1
    if op == "linalg.vector_norm":
        named["ord"] = draw.pick([1.0, 2.0, 3.0, math.inf, 0.0])
    out = "exact" if op in EXACT else "elementwise" if op in EXTREMES else "difference" if op in SUMS else "contraction"
    return Call(op, [x], named, out=out,
                only_values=op in CHOOSES and not op.startswith("arg"))


ROWWISE = ("softmax log_softmax cumsum cumprod sort flip roll cummax cummin logcumsumexp nn.functional.glu").split()
COPIES = ("sort", "flip", "roll", "cummax", "cummin")


def rowwise(draw):
    op = draw.pick(ROWWISE)
    dtype = "i64" if op == "cumsum" and draw.chance(0.3) else draw.float()
    shape = draw.shape(least=1, empty=False)
    dim = draw.between(0, len(shape) - 1)
    if op == "nn.functional.glu":
        shape[dim] *= 2
    x = draw.tensor(shape, dtype, values=factors(draw, dtype) if op == "cumprod" else None)
    named = {"dim": dim}
    if op == "roll":
        named = {"shifts": draw.between(-3, 5), "dims": dim}
        if draw.chance(0.5):
            dims = draw.some(len(shape))
            named = {"shifts": [draw.between(-3, 5) for _ in dims], "dims": dims}
    elif op == "flip":
        named = {"dims": [dim]}
    elif op == "sort":
        named |= {"stable": True}
    # The gradients of a softmax add up to 0.
    return Call(op, [x], named, out="exact" if op in COPIES else "contraction",
                gin="difference" if "softmax" in op else "contraction")
