"""What a program must give: PyTorch's results in double precision, and how far ours may be from them.

A program is refused where rounding decides: where a tiny change of its leaves, or single precision, changes the results more
than it should, as with a comparison of two values that are equal but for rounding.
"""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

# Relative to the largest element, or to 1 if that is larger.
CLOSE = {torch.float64: 1e-10, torch.float32: 5e-5}
# What changes more by such a nudge is refused; and ours may be this many times as far as a nudge leads.
NUDGE, STEADY, NUDGES, SEEDS = 1e-13, 1e-8, 100, range(3)
# Single precision, compared with double precision, in PyTorch; and ours, compared with PyTorch's error.
WORST, TIMES = 3e-3, 20


class Refused(Exception):
    """The program says nothing."""


def results(program, starts, dtype, nudge=None):
    """The outputs and gradients by the names of the file."""
    leaves, values = program.run(dtype, nudge)
    outputs = [values[number] for number in program.outputs]
    trained = [leaf for leaf in leaves if leaf.requires_grad]
    at = [*trained, *(values[number] for number in program.between)]
    found = {f"out/{i}": output for i, output in enumerate(outputs)}
    first = torch.autograd.grad(outputs, at, starts.of("gout", outputs), create_graph=program.twice, allow_unused=True)
    found |= {f"gin/{i}": gradient for i, gradient in enumerate(first) if gradient is not None}
    if program.twice:
        followed = [(f"start/{i}", gradient) for i, gradient in enumerate(first) if gradient is not None and gradient.requires_grad]
        if not followed:
            raise Refused("no second derivative")
        begin = [starts.get(name, gradient) for name, gradient in followed]
        # Whether an intermediate value is part of a first derivative is a choice: a derivative may be written with the
        # argument of a function or with its result.
        second = torch.autograd.grad([gradient for _, gradient in followed], trained, begin, allow_unused=True)
        found |= {f"twice/{i}": gradient for i, gradient in enumerate(second) if gradient is not None}
    return {name: tensor.detach() for name, tensor in found.items()}


class Starts:
    """The gradients from which a pass starts, drawn when they are first asked for."""

    def __init__(self, draw):
        self.draw, self.known = draw, {}

    def get(self, name, like):
        if name not in self.known:
            self.known[name] = self.draw.values(list(like.shape), "f32").to(torch.float64)
        return self.known[name].to(like.dtype)

    def of(self, what, tensors):
        return [self.get(f"{what}/{i}", tensor) for i, tensor in enumerate(tensors)]


def largest(tensor):
    return max(1.0, float(tensor.abs().max())) if tensor.numel() else 1.0


def distance(a, b):
    """The largest difference; infinite where only one of the two has an element that is not finite."""
    if not a.numel():
        return 0.0
    return float(torch.where(a == b, 0.0, (a.double() - b.double()).abs()).nan_to_num(torch.inf).max())


def nudge(seed, by):
    """A change of the leaves; the numbers remain those of single precision where `by` is not smaller than their distances."""
    generator = torch.Generator().manual_seed(seed)

    def changed(x):
        moved = x * (1 + by * torch.randn(x.shape, generator=generator, dtype=x.dtype))
        return moved if by < 1e-8 else moved.float().double()

    return changed


def rounding(program, starts, seed):
    """PyTorch's errors in single precision, for the leaves or for others near them: some happen to have none."""
    double, single = (results(program, starts, dtype, None if seed is None else nudge(seed, 1e-6))
                      for dtype in (torch.float64, torch.float32))
    return {name: distance(single[name], tensor) for name, tensor in double.items() if name in single}


def computed(program, draw, dtype):
    """The tensors to record, and the tolerance of each."""
    starts = Starts(draw)
    if not program.twice:
        return within(program, starts, dtype)
    # Only this one of PyTorch's kernels of attention has second derivatives.
    with sdpa_kernel(SDPBackend.MATH):
        return within(program, starts, dtype)


def within(program, starts, dtype):
    exact = results(program, starts, torch.float64)
    if not all(torch.isfinite(tensor).all() for tensor in exact.values()):
        raise Refused("not finite")
    if max(largest(tensor) for tensor in exact.values()) > 1e6:
        raise Refused("large")
    limits = {name: CLOSE[dtype] * largest(tensor) for name, tensor in exact.items()}
    for seed in SEEDS:
        again = results(program, starts, torch.float64, nudge(seed, NUDGE))
        for name, tensor in exact.items():
            change = distance(again[name], tensor) if name in again else torch.inf
            if change > STEADY * largest(tensor):
                raise Refused("unsteady")
            limits[name] += NUDGES * change
    if dtype == torch.float32:
        errors = [rounding(program, starts, seed) for seed in [None, *SEEDS]]
        for name, tensor in exact.items():
            error = max(error.get(name, 0.0) for error in errors)
            if error > WORST * largest(tensor):
                raise Refused("unsteady in single precision")
            limits[name] += TIMES * error
    return {name: tensor.contiguous() for name, tensor in (exact | starts.known).items()}, limits
