"""A call of an operation: its name, its arguments, and how its results are compared."""

import dataclasses
import math

import torch
from torch.nn import functional as F

from common import DTYPES

from . import views


@dataclasses.dataclass
class Operand:
    """A tensor argument: the elements of its base, and the views that lead to it."""

    base: torch.Tensor
    steps: list
    grad: bool
    shape: list
    dtype: str

    @property
    def is_expanded(self):
        return any("expand" in step for step in self.steps)

    def leaf(self, double):
        """A leaf with these elements, in double precision if asked for."""
        values = self.base.double() if double and self.base.is_floating_point() else self.base
        return values.detach().clone().requires_grad_(self.grad)


@dataclasses.dataclass
class Call:
    """A call; `out` and `gin` name the tolerances of `golden.rs` for its outputs and its gradients."""

    op: str
    args: list
    named: dict = dataclasses.field(default_factory=dict)
    out: str = "contraction"
    gin: str = "contraction"
    # Of values and indices, only the values are compared: of equal elements, PyTorch chooses any.
    only_values: bool = False

    def __post_init__(self):
        # The gradients of repeated elements are added, and may cancel.
        if self.gin in ("contraction", "elementwise") and any(x.is_expanded for x in self.operands()):
            self.gin = "difference"

    def operands(self):
        """The tensor arguments, in the order of their numbers."""
        return [value for argument in (*self.args, *self.named.values()) for value in operands_of(argument)]

    def described(self):
        """The arguments as JSON, in which a tensor is its number."""
        numbers = iter(range(len(self.operands())))
        args = [described(value, numbers) for value in self.args]
        return {"args": args, "named": {name: described(value, numbers) for name, value in self.named.items()}}


def operands_of(value):
    if isinstance(value, Operand):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [operand for part in parts for operand in operands_of(part)]


def described(value, numbers):
    if isinstance(value, Operand):
        return {"tensor": next(numbers)}
    if isinstance(value, list):
        return [described(part, numbers) for part in value]
    if isinstance(value, dict):
        return {name: described(part, numbers) for name, part in value.items()}
    if isinstance(value, torch.dtype):
        return {"dtype": next(name for name, dtype in DTYPES.items() if dtype == value)}
    if isinstance(value, float) and math.isinf(value):
        return {"float": str(value)}
    return value


def filled(value, tensors):
    """An argument with tensors in place of operands."""
    if isinstance(value, Operand):
        return next(tensors)
    if isinstance(value, list):
        return [filled(part, tensors) for part in value]
    if isinstance(value, dict):
        return {name: filled(part, tensors) for name, part in value.items()}
    return value


def recurrent(layer):
    """The function that a recurrent layer is of its input and its weights."""
    def run(x, weights, **kwargs):
        dtype = x.dtype
        output, last = torch.func.functional_call(layer(**kwargs, dtype=dtype), weights, (x,))
        return output, *(last if isinstance(last, tuple) else (last,))

    return run


# Functions whose arguments have another order in PyTorch's database, and functions that it does not have.
FUNCTIONS = {
    "where": lambda x, condition, other: torch.where(condition, x, other),
    "nn.functional.embedding": lambda weight, index: F.embedding(index, weight),
    "to": lambda x, dtype: x.to(dtype),
    "nn.LSTM": recurrent(torch.nn.LSTM),
    "nn.GRU": recurrent(torch.nn.GRU),
    "nn.RNN": recurrent(torch.nn.RNN),
}


def function(op):
    """PyTorch's function for a name in its database, which may end in the name of a variant."""
    if op in FUNCTIONS:
        return FUNCTIONS[op]
    found = torch
    for part in op.split("."):
        if not hasattr(found, part):
            break
        found = getattr(found, part)
    return found


def run(call, double=False, use=None):
    """The outputs of a call in PyTorch, and the leaves of its tensors; `use` replaces the function."""
    leaves = [operand.leaf(double) for operand in call.operands()]
    tensors = [views.apply(leaf, operand.steps) for leaf, operand in zip(leaves, call.operands())]
    tensors = iter(tensors)
    args = [filled(value, tensors) for value in call.args]
    named = {name: filled(value, tensors) for name, value in call.named.items()}
    outputs = (use or function(call.op))(*args, **named)
    outputs = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
    return outputs, leaves
