"""Builds a tree from its description."""

import torch
from torch import nn

from layer_family import build


class Branch(nn.Module):
    """Members of any kind."""


class Builder:
    def __init__(self):
        self.nodes, self.parameters, self.buffers = [], [], []

    def finished(self, module):
        self.nodes.append(module)
        return module

    def node(self, described):
        if "shared" in described:
            return self.nodes[described["shared"]]
        if "layer" in described:
            module = build(described["layer"], described["kwargs"], torch.float32)
            self.parameters += module.parameters()
            return self.finished(module)
        (kind, children), = described.items()
        if kind == "branch":
            module = Branch()
            for name, member in children:
                self.member(module, name, member)
            return self.finished(module)
        if kind == "Sequential":
            module = nn.Sequential()
            for name, child in children:
                module.add_module(name, self.node(child))
            return self.finished(module)
        make = self.parameter if kind.startswith("Parameter") else self.node
        if not kind.endswith("Dict"):
            return self.finished(getattr(nn, kind)([make(child) for child in children]))
        module = getattr(nn, kind)()
        for name, child in children:
            module[name] = make(child)
        return self.finished(module)

    def member(self, module, name, member):
        (kind, described), = member.items()
        if kind == "module":
            module.add_module(name, self.node(described))
        elif kind == "parameter":
            module.register_parameter(name, self.parameter(described))
        else:
            module.register_buffer(name, self.buffer(described), described["persistent"])

    def parameter(self, described):
        if "tied" in described:
            return self.parameters[described["tied"]]
        value = torch.zeros(described["shape"], dtype=getattr(torch, described["dtype"]))
        self.parameters.append(nn.Parameter(value, requires_grad=described["grad"]))
        return self.parameters[-1]

    def buffer(self, described):
        if "tied" in described:
            return self.buffers[described["tied"]]
        self.buffers.append(torch.zeros(described["shape"], dtype=getattr(torch, described["dtype"])))
        return self.buffers[-1]


def built(described):
    """The tree, in which each tensor has a value of its own: its place in the order of creation."""
    model = Builder().node(described)
    with torch.no_grad():
        for i, tensor in enumerate([*model.parameters(), *model.buffers()]):
            tensor.fill_(i % 120 + 1)
    return model
