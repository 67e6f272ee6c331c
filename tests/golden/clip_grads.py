"""clip_grads.safetensors: gradients before and after clipping by norm and by value, and the total norm.

`case` is `{"cases": [{"kind", "kwargs", "dtype", "total"}]}`; `before.<i>` (f64) are the gradients of all cases, cast to
their dtypes, `<n>/after.<i>` those of case n after clipping.
"""

import torch

from common import DTYPES, random, write_safetensors

SHAPES = [[3, 5], [4], [2, 1, 3]]
CASES = [
    ("norm", dict(max_norm=1.0)),
    ("norm", dict(max_norm=100.0)),
    ("norm", dict(max_norm=0.5, norm_type=1.0)),
    ("norm", dict(max_norm=0.5, norm_type=3.0)),
    ("norm", dict(max_norm=0.5, norm_type=0.5)),
    ("norm", dict(max_norm=0.25, norm_type=float("inf"))),
    ("value", dict(clip_value=0.3)),
]


def write():
    tensors, cases = {}, []
    for i, shape in enumerate(SHAPES):
        tensors[f"before.{i}"] = random(shape, 400 + i, torch.float64)
    for kind, kwargs in CASES:
        for dtype in ("f32", "f64", "bf16"):
            params = [torch.zeros(shape, dtype=DTYPES[dtype], requires_grad=True) for shape in SHAPES]
            for i, p in enumerate(params):
                p.grad = tensors[f"before.{i}"].to(DTYPES[dtype]).clone()
            total = 0.0
            if kind == "norm":
                total = torch.nn.utils.clip_grad_norm_(params, **kwargs).item()
            else:
                torch.nn.utils.clip_grad_value_(params, **kwargs)
            for i, p in enumerate(params):
                tensors[f"{len(cases)}/after.{i}"] = p.grad
            named = {k: "inf" if v == float("inf") else v for k, v in kwargs.items()}
            cases.append({"kind": kind, "kwargs": named, "dtype": dtype, "total": total})
    write_safetensors("clip_grads.safetensors", tensors, {"cases": cases})
    return len(cases)
