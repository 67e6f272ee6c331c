"""Rows by name, and their timing."""

import math
import statistics
import sys
import time

import torch


class Rows:
    """The rows, in order: each name with the function that prepares its work."""

    def __init__(self):
        self.makers, self.made = {}, {}

    def add(self, name, make):
        """Adds a row; `make` prepares its tensors and returns the work to measure."""
        self.makers[name] = make

    def both(self, name, shapes, f):
        """Adds `f` of random tensors of these shapes, without a graph, and with the gradients of all of them."""
        self.both_of(name, lambda: [torch.randn(*shape) for shape in shapes], f)

    def both_of(self, name, inputs, f):
        """The same with tensors from `inputs`."""
        self.add(name, lambda: forward(f, inputs()))
        self.add(f"{name}, and backward", lambda: backward(f, [x.requires_grad_() for x in inputs()]))

    def measure(self, name, milliseconds):
        """The median microseconds of the row's work, run for this long."""
        if name not in self.made:
            self.made[name] = self.makers[name]()
            self.made[name]()
        return median_time(self.made[name], milliseconds / 1e3)

    def serve(self):
        """Answers requests until the input ends: `list`, or a name and milliseconds separated by a tab."""
        for line in sys.stdin:
            name, tab, milliseconds = line.rstrip("\n").partition("\t")
            if not tab:
                print("\t".join(self.makers), flush=True)
            elif name in self.makers:
                print(f"{self.measure(name, float(milliseconds)):.4f}", flush=True)
            else:
                print("none", flush=True)


def no_grad(f):
    """`f` without a graph."""

    def run():
        with torch.no_grad():
            return f()

    return run


def forward(f, inputs):
    """The work of a forward pass."""
    return no_grad(lambda: f(*inputs))


def backward(f, leaves, parameters=()):
    """The work of a forward and a backward pass, with gradients of ones."""
    with torch.no_grad():
        grad = torch.ones_like(f(*leaves))

    def run():
        for leaf in (*leaves, *parameters):
            leaf.grad = None
        f(*leaves).backward(grad)

    return run


def fastest(*works):
    """The fastest of several equivalent ways, each tried for a tenth of a second."""
    for work in works:
        work()
    return min(works, key=lambda work: median_time(work, 0.1))


def median_time(work, seconds):
    """The median microseconds of one run, over samples of at least 20 each."""
    begin = time.perf_counter()
    work()
    runs = max(1, math.ceil(20e-6 / (time.perf_counter() - begin)))
    begin, samples = time.perf_counter(), []
    while len(samples) < 3 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        for _ in range(runs):
            work()
        samples.append((time.perf_counter() - start) / runs)
    return statistics.median(samples) * 1e6
