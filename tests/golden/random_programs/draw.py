"""Draws a program, and computes its values on the way, so that each step is valid."""

import torch

from random_calls import views
from random_calls.draw import AROUND, SHORT, Draw

from . import steps
from .program import Program, Ref

# Values that are larger, in number or in elements, make a program of which rounding decides much.
LARGEST, ELEMENTS = 1e3, 30_000


class Pool:
    """The program so far, with its values."""

    def __init__(self, draw):
        self.draw, self.program, self.values = draw, Program([], []), []
        pool = draw.pick([SHORT, AROUND])
        # Most shapes are made of these, so that values often fit together.
        self.sizes = [draw.pick(pool) for _ in range(3)]
        self.elements = 200 if draw.small else ELEMENTS

    def leaf(self, shape, grad=True):
        """A new leaf of the program; its numbers are those of single precision."""
        operand = self.draw.tensor(shape, "f32", grad=grad)
        operand.base = operand.base.double()
        self.program.leaves.append(operand)
        self.values.append(views.apply(operand.base, operand.steps))

    def shape(self, least=1, most=3):
        return [self.draw.pick([*self.sizes, 1]) if self.draw.chance(0.9) else self.draw.pick(SHORT)
                for _ in range(self.draw.between(least, most))]

    def of(self, ref):
        return self.values[ref.number]

    def any(self, fits=lambda x: True):
        """A value, the later the more likely; or nothing, if none fits."""
        found = [i for i, x in enumerate(self.values) if x.is_floating_point() and x.numel() and fits(x)]
        if not found:
            return None
        late = found[-4:]
        return Ref(self.draw.pick(late if self.draw.chance(0.7) else found))

    def add(self, step):
        """Add the step, if its results are usable."""
        try:
            outputs = step.run(self.values)
        except (RuntimeError, IndexError, ValueError):
            return False
        usable = all(x.numel() <= self.elements and torch.isfinite(x).all() and (x.abs() <= LARGEST).all() for x in outputs)
        if not usable or len(outputs) > 12:
            return False
        self.program.steps.append(step)
        self.values += outputs
        return True


def program(seed, number, small=False):
    """A program, with the decisions that led to it; the same for the same arguments."""
    draw = Draw(seed, number, small)
    while True:
        pool = Pool(draw)
        for _ in range(draw.between(1, 3)):
            pool.leaf(pool.shape(), grad=draw.chance(0.9))
        pool.leaf(pool.shape(2, 3))
        length = draw.between(2, 6 if small else 14)
        for _ in range(length * 4):
            if len(pool.program.steps) == length:
                break
            step = steps.step(pool)
            if step is not None:
                pool.add(step)
        if finish(pool):
            return pool.program, draw


def finish(pool):
    """Choose the outputs, and the intermediate values whose gradients are compared."""
    draw, made = pool.draw, pool.program
    values = tracked_values(pool)
    tracked = list(values)
    first = len(made.leaves)
    results = [i for i in tracked if i >= first]
    if not results:
        return False
    made.outputs = sorted({results[-1], *(draw.pick(results) for _ in range(draw.between(0, 2)))})
    made.between = sorted({draw.pick(results) for _ in range(draw.between(0, 2))})
    made.twice = draw.chance(0.4)
    if draw.chance(0.3):
        # `torch.autograd.grad` returns some gradients as they are before the hooks.
        made.between = []
        hooks = [[draw.pick(tracked), draw.pick([2.0, -0.5])] for _ in range(draw.between(1, 3))]
        made.hooks = [hook for hook in hooks if not (made.twice and values[hook[0]] in BY_RESULT)]
    return True


# PyTorch writes the gradients of these with their results, so that second derivatives reach the hooks of these; here they are
# written with the arguments.
BY_RESULT = {"CopysignBackward0", "LogsumexpBackward0"}


def tracked_values(pool):
    """The numbers of the values that have gradients, with the names of their operations in the graph."""
    _, values = pool.program.run(torch.float64)
    return {i: x.grad_fn and x.grad_fn.name() for i, x in enumerate(values) if x.requires_grad and x.numel()}
