"""A program: its leaves, and its steps, each an operation on earlier values."""

import dataclasses

import torch

from random_calls import views
from random_calls.call import FUNCTIONS, function

# Not functions of the module `torch`.
METHODS = "contiguous detach expand repeat reshape unfold view".split()
OTHERS = {
    "slice": lambda x, dim, start, end, step: x[(slice(None),) * (dim % x.dim()) + (slice(start, end, step),)],
    "__rsub__": lambda x, number: number - x,
    "where_positive": lambda x, y: torch.where(x > 0.25, x, y),
    "sorted_values": lambda x, dim: x.sort(dim=dim, stable=True).values,
    "index_select_list": lambda x, dim, index: x.index_select(dim, torch.tensor(index)),
    "gather_reversed": lambda x, dim: x.gather(dim, torch.arange(x.shape[dim] - 1, -1, -1).reshape(-1, *[1] * (x.dim() - 1 - dim)).expand_as(x)),
    # Double precision, and back to the dtype of the program.
    "there_and_back": lambda x: x.double().sin().to(x.dtype),
}


@dataclasses.dataclass(frozen=True)
class Ref:
    """A value of the program: a leaf, or an output of a step."""

    number: int


@dataclasses.dataclass
class Step:
    """A call of an operation, whose tensors are values of the program."""

    op: str
    args: list
    named: dict = dataclasses.field(default_factory=dict)

    def described(self):
        """The call as JSON, in which a tensor is its position in `uses`."""
        uses = []

        def of(value):
            if isinstance(value, Ref):
                uses.append(value.number)
                return {"tensor": len(uses) - 1}
            if isinstance(value, torch.dtype):
                return {"dtype": {torch.float32: "f32", torch.float64: "f64"}[value]}
            return [of(part) for part in value] if isinstance(value, list) else value

        args, named = [of(value) for value in self.args], {name: of(value) for name, value in self.named.items()}
        return {"op": self.op, "args": args, "named": named, "uses": uses}

    def run(self, values):
        """The outputs of the call, as a list."""
        def of(value):
            if isinstance(value, Ref):
                return values[value.number]
            return [of(part) for part in value] if isinstance(value, list) else value

        call = OTHERS.get(self.op) or FUNCTIONS.get(self.op)
        call = call or (getattr(torch.Tensor, self.op) if self.op in METHODS else function(self.op))
        outputs = call(*[of(value) for value in self.args], **{name: of(value) for name, value in self.named.items()})
        return [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)


@dataclasses.dataclass
class Program:
    """Leaves (`random_calls.call.Operand`) and steps; values are numbered, first the leaves and then the outputs."""

    leaves: list
    steps: list
    # The values from which gradients start, and the intermediate values whose gradients are asked for.
    outputs: list = dataclasses.field(default_factory=list)
    between: list = dataclasses.field(default_factory=list)
    twice: bool = False
    # Hooks: the values whose gradients they multiply, and by what.
    hooks: list = dataclasses.field(default_factory=list)

    def run(self, dtype, nudge=None):
        """The leaves, and every value, in this precision; `nudge` changes the leaves a little."""
        leaves = []
        for leaf in self.leaves:
            base = leaf.base
            if base.is_floating_point():
                base = (base if nudge is None else nudge(base)).to(dtype)
            leaves.append(base.detach().clone().requires_grad_(leaf.grad))
        values = []
        self.extend(values, [views.apply(leaf, operand.steps) for leaf, operand in zip(leaves, self.leaves)])
        for step in self.steps:
            self.extend(values, step.run(values))
        return leaves, values

    def extend(self, values, new):
        """Adds values, with the hooks of each."""
        for number, value in enumerate(new, len(values)):
            for hooked, factor in self.hooks:
                if hooked == number:
                    # PyTorch calls hooks without a gradient, too.
                    value.register_hook(lambda gradient, factor=factor: None if gradient is None else gradient * factor)
        values += new
