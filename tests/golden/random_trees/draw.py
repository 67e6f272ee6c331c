"""Draws a tree of modules as JSON.

A node is `{"layer", "kwargs"}`; `{"shared"}` (the number of an earlier node, which is at this path, too); or one of these, which
have numbers in the order in which they are finished: `{"branch": [[name, member], …]}`, `{"ModuleList": [node, …]}`,
`{"ModuleDict": [[name, node], …]}`, `{"Sequential": [[name, layer], …]}`, `{"ParameterList": [parameter, …]}`,
`{"ParameterDict": [[name, parameter], …]}`. Layers have numbers, too.

A member is `{"module"}`, `{"parameter"}` or `{"buffer"}`. A parameter is `{"shape", "dtype", "grad"}` or `{"tied"}`, the number of
an earlier one, where those of layers count; a buffer is `{"shape", "dtype", "persistent"}` or `{"tied"}`.
"""

import torch

from layer_family import build
from random_calls.draw import Draw

NAMES = ["weight", "bias", "a", "b", "c", "layer1", "layer2", "norm", "0", "1", "x_2", "running_mean", "out"]
SHAPES = [[], [1], [2], [3], [2, 3], [3, 2], [2, 2], [1, 4]]
DTYPES = ["float32"] * 5 + ["float64", "float16", "bfloat16"]
BUFFERS = ["float32", "float32", "float64", "int64", "bool", "uint8"]
LAYERS = [
    ("Linear", {"in_features": 2, "out_features": 3}),
    ("Linear", {"in_features": 2, "out_features": 2, "bias": False}),
    ("BatchNorm1d", {"num_features": 2}),
    ("BatchNorm1d", {"num_features": 3, "affine": False}),
    ("BatchNorm2d", {"num_features": 2, "track_running_stats": False}),
    ("InstanceNorm1d", {"num_features": 2, "track_running_stats": True}),
    ("GroupNorm", {"num_groups": 2, "num_channels": 4}),
    ("LayerNorm", {"normalized_shape": [2, 2]}),
    ("Conv1d", {"in_channels": 2, "out_channels": 2, "kernel_size": 3}),
    ("ConvTranspose2d", {"in_channels": 1, "out_channels": 2, "kernel_size": [1, 2]}),
    ("Embedding", {"num_embeddings": 3, "embedding_dim": 2, "padding_idx": 1}),
    ("PReLU", {"num_parameters": 2}),
    ("ReLU", {}),
    ("Dropout", {"p": 0.3}),
    ("Identity", {}),
    ("Flatten", {}),
]


class Tree:
    """The description of a tree, while it is drawn."""

    def __init__(self, draw):
        self.draw = draw
        # Of the nodes that are finished, whether they are layers; and the numbers of the parameters and buffers.
        self.nodes, self.parameters, self.buffers = [], 0, []
        self.described = self.branch(draw.between(1, 4))

    def finished(self, node, is_layer=False):
        self.nodes.append(is_layer)
        return node

    def node(self, depth):
        draw = self.draw
        if self.nodes and draw.chance(0.15):
            return {"shared": draw.between(0, len(self.nodes) - 1)}
        if depth == 0 or draw.chance(0.3):
            return self.layer()
        kind = draw.pick(["branch"] * 3 + ["ModuleList", "ModuleDict", "Sequential", "Sequential", "ParameterList", "ParameterDict"])
        if kind == "branch":
            return self.branch(depth - 1)
        if kind == "Sequential":
            return self.sequential(depth - 1)
        make = self.parameter if kind.startswith("Parameter") else lambda: self.node(depth - 1)
        children = [make() for _ in range(draw.between(0, 3))]
        if kind.endswith("Dict"):
            children = [list(pair) for pair in zip(self.names(len(children)), children)]
        return self.finished({kind: children})

    def names(self, count):
        return [NAMES[i] for i in self.draw.order(len(NAMES))[:count]]

    def layer(self):
        layer, kwargs = self.draw.pick(LAYERS)
        self.parameters += len(list(build(layer, kwargs, torch.float32).parameters()))
        return self.finished({"layer": layer, "kwargs": kwargs}, True)

    def sequential(self, depth):
        children = []
        for _ in range(self.draw.between(0, 4)):
            layers = [i for i, is_layer in enumerate(self.nodes) if is_layer]
            if layers and self.draw.chance(0.2):
                children.append({"shared": self.draw.pick(layers)})
            elif depth > 0 and self.draw.chance(0.2):
                children.append(self.sequential(depth - 1))
            else:
                children.append(self.layer())
        names = self.names(len(children)) if self.draw.chance(0.3) else [str(i) for i in range(len(children))]
        return self.finished({"Sequential": [list(pair) for pair in zip(names, children)]}, True)

    def parameter(self):
        if self.parameters and self.draw.chance(0.25):
            return {"tied": self.draw.between(0, self.parameters - 1)}
        self.parameters += 1
        return {"shape": self.draw.pick(SHAPES), "dtype": self.draw.pick(DTYPES), "grad": self.draw.chance(0.8)}

    def buffer(self):
        if self.buffers and self.draw.chance(0.25):
            number = self.draw.between(0, len(self.buffers) - 1)
            return {"tied": number, "persistent": self.buffers[number]}
        self.buffers.append(self.draw.chance(0.7))
        return {"shape": self.draw.pick(SHAPES), "dtype": self.draw.pick(BUFFERS), "persistent": self.buffers[-1]}

    def branch(self, depth):
        members = []
        for name in self.names(self.draw.between(depth > 0, 6)):
            kind = self.draw.pick(["module"] * 3 + ["parameter", "parameter", "buffer"])
            made = {"module": lambda: self.node(depth), "parameter": self.parameter, "buffer": self.buffer}[kind]()
            members.append([name, {kind: made}])
        return self.finished({"branch": members})


def tree(seed, number):
    """A tree, with the decisions that led to it; the same for the same arguments."""
    draw = Draw(seed, number)
    return Tree(draw).described, draw
