"""Draws a network, its optimizer, and what happens in each step."""

import torch

from layer_family import build, sequential
from random_calls.draw import Draw

from .layers import layer

LARGEST = 600

OPTIMIZERS = {
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {"momentum": 0.5, "dampening": 0.2}, {"weight_decay": 0.01}],
    "Adam": [{}, {"weight_decay": 0.1}, {"amsgrad": True}, {"betas": [0.8, 0.95]}],
    "AdamW": [{}, {"weight_decay": 0.3}, {"amsgrad": True}],
    "NAdam": [{}, {"momentum_decay": 0.01}],
    "RAdam": [{}, {"weight_decay": 0.1}],
    "Adamax": [{}, {"weight_decay": 0.1}],
    "Adagrad": [{}, {"lr_decay": 0.05}],
    "RMSprop": [{}, {"momentum": 0.8, "centered": True}],
    "ASGD": [{}, {"t0": 2}],
    "Adadelta": [{}, {"rho": 0.8, "weight_decay": 0.1}],
    "Rprop": [{}, {"etas": [0.4, 1.3]}],
}
RATES = [0.1, 0.01]
STEPS = 5


class Network:
    """A description of the network, and the inputs and targets of all steps."""

    def __init__(self, draw):
        self.draw = draw
        shape = [draw.between(2, 5), draw.between(1, 6), *(draw.between(3, 9) for _ in range(draw.between(0, 2)))]
        self.first = list(shape)
        self.shape, self.children = shape, []
        for _ in range(draw.between(2, 8)):
            self.children.append(self.grown(2))
        self.described = sequential(*self.children)
        self.optimizer = draw.pick(list(OPTIMIZERS))
        self.options = {"lr": draw.pick(RATES), **draw.pick(OPTIMIZERS[self.optimizer])}
        if draw.chance(0.1):
            self.options["maximize"] = True
        self.inputs = [draw.values(self.first, "f32").double() for _ in range(STEPS)]
        self.targets = [draw.values(self.shape, "f32").double() for _ in range(STEPS)]
        names = list(dict(self.built(torch.float64, 0).named_parameters()))
        self.group = self.grouped(names) if len(names) > 1 and draw.chance(0.4) else None
        self.steps = [self.step(names) for _ in range(STEPS)]

    def grouped(self, names):
        """Some parameters, but not all, with other options."""
        group = [names[i] for i in self.draw.some(len(names))][:len(names) - 1]
        options = {"lr": self.draw.pick([0.05, 0.002, 0.0])}
        if "nesterov" not in self.options:
            options |= self.draw.pick([options for options in OPTIMIZERS[self.optimizer] if "nesterov" not in options])
        return {"names": group, "options": options}

    def step(self, names):
        """What a step does besides a step: parameters that are paused, a limit of the norm, a pass in evaluation mode, and other
        learning rates for the groups."""
        draw = self.draw
        paused = [name for name in names if draw.chance(0.3)] if draw.chance(0.4) else []
        made = {"paused": paused, "clip": draw.pick([None, None, 0.5, 10.0]), "eval": draw.chance(0.25)}
        if draw.chance(0.15):
            made["lrs"] = [draw.pick([0.08, 0.003]) for _ in range(2 if self.group else 1)]
        return made

    def grown(self, depth):
        """A layer that fits, or several in a `Sequential`; `shape` becomes that of the output."""
        if depth and self.draw.chance(0.2):
            return sequential(*(self.grown(depth - 1) for _ in range(self.draw.between(1, 3))))
        while True:
            described = layer(self.draw, self.shape)
            try:
                with torch.no_grad():
                    output = build(described["layer"], described["kwargs"], torch.float64)(torch.ones(self.shape, dtype=torch.float64))
            except (AssertionError, RuntimeError, ValueError):
                continue
            if 0 < output.numel() <= LARGEST:
                self.shape = list(output.shape)
                return described

    def built(self, dtype, seed):
        torch.manual_seed(seed)
        return build("Sequential", self.described["kwargs"], dtype)


def network(seed, number):
    """A network, with the decisions that led to it; the same for the same arguments."""
    draw = Draw(seed, number)
    while True:
        made = Network(draw)
        if list(made.built(torch.float64, 0).parameters()):
            return made, draw
