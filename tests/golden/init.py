"""init.safetensors: the weights that constructors draw after `torch.manual_seed(0)`."""

import torch
from torch import nn

from common import DTYPES, NAMES, write_safetensors
from digits_torch import Digits

WIDTH = 8


def mlp():
    """A few layers built in one go, so that each continues the stream of the one before."""
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8, bias=False), nn.ReLU(), nn.Linear(8, 3))


def write():
    tensors, cases = {}, []

    def record(name, make, layer, kwargs=None, dtype="f32"):
        torch.manual_seed(0)
        module = make()
        following = torch.rand(3)
        name = name if dtype == "f32" else f"{name}_{dtype}"
        for key, value in module.state_dict().items():
            tensors[f"{name}.{key}"] = value
            assert value.dtype in NAMES
        # The next draw shows that the constructor consumed exactly what it should.
        tensors[f"{name}.next_rand"] = following
        cases.append({"name": name, "layer": layer, "kwargs": kwargs or {}, "dtype": dtype, "seed": 0,
                      "keys": list(module.state_dict())})

    for dtype in ("f32", "f64", "f16", "bf16"):
        kind = DTYPES[dtype]
        half = dtype in ("f16", "bf16")
        for i, o in ((3, 2),) if half else ((3, 2), (1, 1), (5, 4), (17, 9), (4, 16)):
            for bias in (True, False):
                record(f"linear_{i}_{o}" + ("" if bias else "_nobias"),
                       lambda: nn.Linear(i, o, bias=bias, dtype=kind), "Linear",
                       {"in_features": i, "out_features": o, "bias": bias}, dtype)
        shapes = ((1, 2, [3, 3], 1),) if half else ((1, 2, [3, 3], 1), (3, 4, [3, 3], 1), (4, 6, [3, 2], 2), (3, 6, [1, 1], 3), (2, 3, [5, 1], 1))
        for i, o, k, groups in shapes:
            for bias in (True, False):
                record(f"conv2d_{i}_{o}_{k[0]}x{k[1]}_g{groups}" + ("" if bias else "_nobias"),
                       lambda: nn.Conv2d(i, o, tuple(k), groups=groups, bias=bias, dtype=kind), "Conv2d",
                       {"in_channels": i, "out_channels": o, "kernel_size": k, "groups": groups, "bias": bias}, dtype)
        for layer in ("BatchNorm1d", "BatchNorm2d"):
            record(f"{layer.lower()}_3", lambda: getattr(nn, layer)(3, dtype=kind), layer, {"num_features": 3}, dtype)
    record("mlp", mlp, "Sequential: Linear(4, 8), ReLU, Linear(8, 8, bias=False), ReLU, Linear(8, 3)")
    record("digits", lambda: Digits(WIDTH), "Digits", {"width": WIDTH})
    write_safetensors("init.safetensors", tensors, cases)
    return len(cases)
