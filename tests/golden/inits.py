"""inits.safetensors: the draws of each function of torch.nn.init after `torch.manual_seed(0)`, and deep
models built at once."""

import torch
from torch import nn

from common import DTYPES, write_safetensors
from layer_family import construct, module, sequential


def conv(cin, cout, kernel, **kwargs):
    return module("Conv2d", in_channels=cin, out_channels=cout, kernel_size=kernel, **kwargs)


def linear(i, o, **kwargs):
    return module("Linear", in_features=i, out_features=o, **kwargs)


def deep():
    """More than thirty layers, containers not counted."""
    blocks, channels = [], 3
    for width, kernel in ((4, 3), (6, [3, 1]), (6, 1), (8, 3)):
        blocks += [conv(channels, width, kernel, padding="same", bias=width != 6),
                   module("BatchNorm2d", num_features=width), module("ReLU"), module("Dropout", p=0.1)]
        channels = width
    grouped = sequential(("spread", conv(8, 8, 3, groups=8, padding=1)), ("join", conv(8, 5, 1)), ("keep", module("Identity")))
    head = sequential(linear(20, 17), module("BatchNorm1d", num_features=17), module("ReLU"), module("Dropout"),
                      linear(17, 9, bias=False), module("BatchNorm1d", num_features=9, affine=False), module("ReLU"),
                      linear(9, 33), module("ReLU"), linear(33, 1), module("Identity"), linear(1, 4))
    return sequential(*blocks, grouped, module("MaxPool2d", kernel_size=2), module("Flatten"), head)


def write():
    tensors, cases = {}, []
    matrix, wide, tall, kernel = [7, 5], [4, 9], [9, 4], [6, 4, 3, 2]
    given = []
    for shape in (matrix, wide, [33, 17], kernel):
        given += [
            ("uniform_", shape, {"a": -0.25, "b": 1.5}), ("normal_", shape, {"mean": 0.5, "std": 2.0}),
            ("xavier_uniform_", shape, {}), ("xavier_uniform_", shape, {"gain": 5 / 3}),
            ("xavier_normal_", shape, {"gain": 0.5}), ("trunc_normal_", shape, {}),
            ("trunc_normal_", shape, {"mean": 0.1, "std": 0.02, "a": -0.04, "b": 0.3}),
            ("trunc_normal_", shape, {"std": 1.0, "a": 1.5, "b": 3.0}), ("orthogonal_", shape, {}),
            ("orthogonal_", shape, {"gain": 0.5}),
        ]
        for name in ("kaiming_uniform_", "kaiming_normal_"):
            given += [(name, shape, {"a": a, "mode": mode, "nonlinearity": nonlinearity})
                      for a, mode, nonlinearity in ((0, "fan_in", "leaky_relu"), (0, "fan_out", "relu"), (0.2, "fan_out", "leaky_relu"),
                                                    (0, "fan_in", "tanh"), (0, "fan_in", "selu"), (0, "fan_in", "linear"), (0, "fan_out", "sigmoid"))]
    for shape in (matrix, wide, tall, [1, 1]):
        given += [("eye_", shape, {}), ("sparse_", shape, {"sparsity": 0.3}), ("sparse_", shape, {"sparsity": 0.0, "std": 1.0}),
                  ("sparse_", shape, {"sparsity": 1.0})]
    for shape in ([4, 4, 3], [4, 2, 3, 2], [2, 6, 3, 2, 4]):
        given += [("dirac_", shape, {}), ("dirac_", shape, {"groups": 2})]
    given += [("zeros_", [3, 2], {}), ("ones_", [3, 2], {}), ("constant_", [3, 2], {"val": 0.3}), ("orthogonal_", [5, 5], {}),
              ("orthogonal_", [1, 6], {}), ("orthogonal_", [6, 1], {}), ("orthogonal_", [0, 3], {}), ("orthogonal_", [40, 23], {})]
    for name, shape, kwargs in given:
        for dtype in ("f32", "f64"):
            torch.manual_seed(0)
            key = str(len(cases))
            tensors[f"{key}.out"] = getattr(nn.init, name)(torch.empty(shape, dtype=DTYPES[dtype]), **kwargs)
            tensors[f"{key}.next"] = torch.rand(2)
            cases.append({"init": name, "shape": shape, "kwargs": kwargs, "dtype": dtype})
    for dtype in ("f32", "f64"):
        description, key = deep(), str(len(cases))
        torch.manual_seed(0)
        torch.set_default_dtype(DTYPES[dtype])
        built = construct(description["layer"], description["kwargs"], DTYPES[dtype])
        torch.set_default_dtype(torch.float32)
        tensors[f"{key}.next"] = torch.rand(2)
        for name, value in built.state_dict().items():
            tensors[f"{key}.state.{name}"] = value
        cases.append({"init": None, **description, "dtype": dtype, "keys": list(built.state_dict())})
    write_safetensors("inits.safetensors", tensors, cases)
    return len(cases)
