"""timm_inits.safetensors: timm's truncated normal draws, which were PyTorch's before 2.15. Needs timm 1.0."""

import timm.layers
import torch

from common import DTYPES, write_safetensors

CASES = [
    ("trunc_normal_", [40, 50], {}),
    ("trunc_normal_", [40, 50], {"std": 0.02}),
    ("trunc_normal_", [7, 9], {"mean": 0.5, "std": 0.5, "a": -0.25, "b": 2.0}),
    ("trunc_normal_", [33], {"mean": 4.0, "std": 1.0, "a": -1.0, "b": 1.0}),
    ("trunc_normal_", [3], {"std": 0.02, "a": -0.01, "b": 0.01}),
    ("trunc_normal_tf_", [40, 50], {"std": 0.02}),
    ("trunc_normal_tf_", [6, 11], {"mean": -1.0, "std": 3.0, "a": -4.5, "b": 0.5}),
    ("trunc_normal_tf_", [0, 4], {}),
]


def write():
    tensors, cases = {}, []
    for dtype in ("f32", "f64", "f16", "bf16"):
        for init, shape, kwargs in CASES:
            torch.manual_seed(0)
            out = getattr(timm.layers, init)(torch.empty(shape, dtype=DTYPES[dtype]), **kwargs)
            n = len(cases)
            tensors[f"{n}.out"] = out
            tensors[f"{n}.next"] = torch.rand(2)
            cases.append({"init": init, "shape": shape, "kwargs": kwargs, "dtype": dtype})
    write_safetensors("timm_inits.safetensors", tensors, cases)
    return len(cases)
