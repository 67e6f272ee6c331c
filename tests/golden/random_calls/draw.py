"""Random decisions, shapes, dtypes and values."""

import math

import numpy
import torch

from common import DTYPES

from . import views
from .call import Operand

# Half precision has kernels of its own, so it is drawn often.
FLOATS = ["f32", "f32", "f32", "f32", "f64", "f16", "f16", "bf16", "bf16"]
INTEGERS = ["i64", "i64", "i32", "u8"]

# Sizes below the width of a vector, around it, and above the size of a block.
SHORT = [1, 2, 3, 4, 5, 7, 8]
AROUND = [1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64]
LONG = [1, 2, 5, 63, 64, 65, 100, 257, 300]

# Where functions have poles, overflow, or change their formula.
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 3.0, 20.0, -20.0, 88.0, -88.0, 710.0,
           -710.0, 1e-8, 1e-40, 1e30, -1e30]


class Draw:
    """The decisions of one call. Its seeds determine them, whichever release of NumPy or PyTorch is used.

    `small` draws shapes of few elements, for recordings.
    """

    def __init__(self, seed, number, small=False):
        self.state = numpy.random.RandomState([seed, number])
        self.small = small

    def chance(self, probability):
        return self.state.uniform() < probability

    def between(self, low, high):
        """An integer; both ends are possible."""
        return int(self.state.randint(low, high + 1))

    def pick(self, values):
        return values[self.between(0, len(values) - 1)]

    def order(self, count):
        return [int(i) for i in self.state.permutation(count)]

    def some(self, count):
        """At least one of the numbers below `count`, in order."""
        return sorted(self.order(count)[:self.between(1, count)])

    def float(self):
        return self.pick(FLOATS)

    def shape(self, least=0, most=4, empty=True):
        """Sizes of `least` to `most` dimensions; rarely without elements, if `empty` allows it."""
        pools = [SHORT, AROUND] if self.small else [SHORT, SHORT, AROUND, AROUND, LONG]
        pool = self.pick(pools)
        sizes = [self.pick(pool) for _ in range(self.between(least, most))]
        limit = 140 if self.small else 60_000 if pool is LONG else 20_000
        # One of the sizes stays as it is, so that odd lengths also occur in small tensors.
        kept = self.between(0, len(sizes) - 1) if sizes else 0
        others = [i for i in range(len(sizes)) if i != kept]
        while math.prod(sizes) > limit:
            largest = max(others, key=lambda i: sizes[i])
            sizes[largest] //= 2
        if empty and sizes and self.chance(0.03):
            sizes[self.between(0, len(sizes) - 1)] = 0
        return sizes

    def values(self, shape, dtype, special=False):
        """Normal numbers of several scales, with some special ones if asked for; or integers."""
        shape = tuple(shape)
        if dtype == "bool":
            return torch.tensor(self.state.uniform(size=shape) < 0.5)
        if dtype == "u8":
            return self.integers(shape, 0, 256).to(torch.uint8)
        if dtype in ("i64", "i32"):
            return self.integers(shape, -50, 50).to(DTYPES[dtype])
        numbers = numpy.asarray(self.state.standard_normal(shape)) * self.pick([1.0, 1.0, 1.0, 0.1, 5.0])
        if special and numbers.size:
            places = self.state.randint(0, numbers.size, size=1 + numbers.size // 6)
            numbers.reshape(-1)[places] = numpy.array(SPECIAL)[self.state.randint(0, len(SPECIAL), size=places.size)]
        return torch.tensor(numbers, dtype=torch.float64).to(DTYPES[dtype])

    def integers(self, shape, low, high):
        """Integers, the upper end excluded."""
        return torch.tensor(self.state.randint(low, high, size=tuple(shape)))

    def tensor(self, shape, dtype, special=False, grad=True, plain=False, values=None):
        """A tensor of this shape: a view of another, unless it is `plain`.

        `values` makes the elements of a given shape, where not all are allowed.
        """
        base, steps = (list(shape), []) if plain else views.draw(self, shape)
        elements = values(base) if values else self.values(base, dtype, special)
        elements = elements.to(DTYPES[dtype]).contiguous()
        return Operand(elements, steps, grad and elements.is_floating_point(), list(shape), dtype)

    def indices(self, shape, size):
        """A tensor of indices below `size`."""
        return self.tensor(shape, "i64", values=lambda base: self.integers(base, 0, size))
