"""Where PyTorch is wrong, or far from what it computes in double precision; each with its reason.

Where it is wrong, the expected result is that of another function. Elsewhere ours may be as far from double precision.
"""

import dataclasses
import typing

import numpy
import torch
from torch.nn import functional as F


@dataclasses.dataclass
class Different:
    """Calls of these operations (of any, without names) to which `applies` says yes."""

    ops: tuple | None
    reason: str
    applies: typing.Callable
    # What computes the right result.
    instead: typing.Callable | None = None


def expanded(place):
    return lambda call: call.operands()[place].is_expanded


def of(*dtypes):
    return lambda call: call.operands()[0].dtype in dtypes


def in_double(function):
    """The same function by way of double precision."""
    def run(*args):
        wide = [x.double() if isinstance(x, torch.Tensor) else x for x in args]
        return function(*wide).to(args[0].dtype)

    return run


def sinh(x):
    return x.sinh() if x.requires_grad else torch.from_numpy(numpy.asarray(numpy.sinh(x.numpy())))


CONVOLUTIONS = [f"conv{kind}{dims}d" for kind in ("", "_transpose") for dims in (1, 2, 3)]
NORMS = tuple(f"nn.functional.{kind}_norm" for kind in ("layer", "group", "batch", "rms"))

# The first entry that applies is used.
DIFFERENT = [
    Different(("gather",), "PyTorch adds the gradient of an expanded index to the wrong elements", expanded(1),
              lambda x, dim, index: torch.gather(x, dim, index.contiguous())),
    Different(("take_along_dim",), "it calls `gather` with an expanded index, whose gradient is wrong", expanded(1),
              lambda x, index, dim: torch.take_along_dim(x, index.contiguous(), dim)),
    Different(tuple(f"scatter_reduce.{reduce}" for reduce in ("sum", "prod", "mean", "amax", "amin")),
              "PyTorch reduces to the wrong elements if the index is expanded", expanded(1),
              lambda x, dim, index, *more, **named: torch.scatter_reduce(x, dim, index.contiguous(), *more, **named)),
    Different(("median",), "PyTorch's median of an expanded tensor is another element", expanded(0),
              lambda x, **named: torch.median(x.contiguous(), **named)),
    Different(("fmod",), "PyTorch's vectorized `fmod` is NaN where the divisor is subnormal", of("f32"), in_double(torch.fmod)),
    Different(("remainder",), "it calls the vectorized `fmod`", of("f32"), in_double(torch.remainder)),
    Different(("nn.functional.gelu",), "PyTorch's vectorized `erf` makes NaN of infinity, and loses digits in the tail", of("f32"),
              in_double(F.gelu)),
    Different(("sinh",), "PyTorch's is infinite from 709.8 on, although numbers up to 710.4 have a finite result", of("f64"), sinh),
    Different(("nn.functional.hardsigmoid",), "PyTorch's sixth is that of f32", of("f64"), lambda x: ((x + 3) / 6).clamp(0, 1)),
    *(Different((f"nn.functional.{name}",), "for some long kernels, oneDNN's gradient of the weight is arbitrary",
                of("f32", "f16", "bf16"), in_double(getattr(F, name))) for name in CONVOLUTIONS),
    Different(("digamma", "lgamma"), "PyTorch's digamma and trigamma functions lose digits near zeros and poles", of("f32")),
    Different(("acosh", "asin", "acos", "atanh"), "PyTorch's derivative subtracts the square of a number near 1 from 1", of("f32")),
    Different(("linalg.vector_norm",), "PyTorch's squares overflow in f32 where the norm does not", of("f32")),
    Different(NORMS, "of a single element less its mean, PyTorch keeps a rounding error", of("f32")),
    Different(None, "in half precision, PyTorch rounds each step of a gradient, or overflows in it", of("f16", "bf16")),
]


def which(call):
    """The entry of a call, if there is one."""
    named = (entry for entry in DIFFERENT if entry.ops is None or call.op in entry.ops)
    return next((entry for entry in named if entry.applies(call)), None)


def instead(call):
    """The function to use in place of PyTorch's, if that is wrong."""
    entry = which(call)
    return entry.instead if entry else None
