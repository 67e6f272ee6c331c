#!/usr/bin/env python3
"""The cost of PyTorch's module mechanism: the peer of `benches/module.rs`.

Needs a Python with torch. Usage: python benches/peers/module.py
"""

import statistics
import sys
import time

import torch

LAYERS = 10_000


class Empty(torch.nn.Module):
    """A module that computes nothing, so that only the mechanism is measured."""

    def forward(self, _):
        return None


class Pair(torch.nn.Module):
    """A layer's two parameters."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.bias = torch.nn.Parameter(torch.zeros(1))


def nanoseconds(run, items, repeats=15, least=0.05):
    """The median time of `run` per item; one sample takes at least `least` seconds."""
    loops = 1
    while True:
        start = time.perf_counter()
        for _ in range(loops):
            run()
        if time.perf_counter() - start >= least:
            break
        loops *= 2
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(loops):
            run()
        samples.append((time.perf_counter() - start) / (loops * items))
    return statistics.median(samples) * 1e9


def exhaust(iterator):
    """Runs an iterator to its end."""
    return sum(1 for _ in iterator)


def main():
    torch.set_num_threads(1)
    module, other = Empty(), Empty()
    # A range of calls in one function, so that the loop's own cost is small and equal.
    calls = 1000

    def repeat(function):
        for _ in range(calls):
            function(None)

    rows = [
        ("call: forward", nanoseconds(lambda: repeat(module.forward), calls)),
        ("call: __call__", nanoseconds(lambda: repeat(module), calls)),
    ]
    handle = other.register_forward_hook(lambda *_: None)
    rows.append(("call: __call__, a hook elsewhere", nanoseconds(lambda: repeat(module), calls)))
    handle.remove()
    handle = module.register_forward_hook(lambda *_: None)
    rows.append(("call: __call__, an empty hook", nanoseconds(lambda: repeat(module), calls)))
    handle.remove()

    model = torch.nn.ModuleList(Pair() for _ in range(LAYERS))
    items = 2 * LAYERS
    rows += [
        ("parameter: parameters()", nanoseconds(lambda: exhaust(model.parameters()), items)),
        ("parameter: named_parameters()", nanoseconds(lambda: exhaust(model.named_parameters()), items)),
        ("parameter: state_dict()", nanoseconds(model.state_dict, items)),
    ]
    print(f"Python {sys.version.split()[0]}, torch {torch.__version__}; median ns for each item")
    for name, cost in rows:
        print(f"{name:36} {cost:10.1f}")


if __name__ == "__main__":
    main()
