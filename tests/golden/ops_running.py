"""ops_running.safetensors: cumulative extremes, `logcumsumexp`, quantiles, `nan_to_num`.

`op_cases.py` describes the recordings.
"""

import torch

from op_cases import INF, NAN, case, each, write_files
from common import integers, random

LAYOUTS = {"contiguous": "contiguous", "transposed": "transposed:0,1", "narrowed": "narrowed:1", "strided": "strided:0", "expanded": "expanded:0"}


def stretched(x, layout):
    """What an expanded layout can hold."""
    return x[:1].expand(x.shape) if layout.startswith("expanded") else x


def running():
    x = random([3, 4, 5], 121)
    table = {"cummax": torch.cummax, "cummin": torch.cummin, "logcumsumexp": torch.logcumsumexp}
    for name, f in table.items():
        for dim in (0, 1, -1):
            args, g = {"dim": dim}, lambda t: f(t, dim)
            for variant, layout in LAYOUTS.items():
                each(name, f"{variant}_{dim}", g, [stretched(x, layout)], [layout], args=args)
            each(name, f"empty_{dim}", g, [x[:, :0]], args=args)
        zero, g = {"dim": 0}, lambda t: f(t, 0)
        each(name, "scalar", g, [torch.tensor(1.5)], args=zero)
        each(name, "special", g, [torch.tensor([1.0, -INF, 1.0, 2.0, INF, 0.0, NAN, 3.0, NAN])], args=zero)
        each(name, "infinite", g, [torch.tensor([-INF, -INF, 1.0, -INF, 2.0])], args=zero)
        each(name, "ties", g, [torch.tensor([1.0, 1.0, -0.0, 0.0, 3.0, 3.0, 1.0])], args=zero, both=True)
        each(name, "large", g, [torch.tensor([900.0, 1000.0, -1000.0, 1000.0])], args=zero, both=True)
        for half in ("f16", "bf16"):
            case(name, "half", g, [x], args=zero, dtype=half)
        if name != "logcumsumexp":
            for kind in (torch.int64, torch.int32, torch.uint8, torch.bool):
                case(name, f"{kind}".replace("torch.", ""), g, [integers([4, 3], 122, 0, 4).to(kind)], args=zero, dtype=None)


def quantiles():
    x = random([3, 4, 5], 123)
    with_nan = x.clone()
    # Of several NaN PyTorch's sort takes any.
    with_nan[1, 2, 0] = NAN
    for name, f in (("quantile", torch.quantile), ("nanquantile", torch.nanquantile)):
        for mode in ("linear", "lower", "higher", "nearest", "midpoint"):
            for dim in (None, 0, -1):
                for keepdim in (False, True):
                    args = {"dim": dim, "keepdim": keepdim, "interpolation": mode}
                    g = lambda t, q: f(t, q, dim=dim, keepdim=keepdim, interpolation=mode)
                    q = torch.tensor([0.0, 0.3, 0.5, 0.875, 1.0])
                    each(name, f"{mode}_{dim}_{keepdim}", g, [x, q], args=args, both=not keepdim)
                    if keepdim:
                        each(name, f"{mode}_{dim}_nan", g, [with_nan, q], args=args)
            args = {"dim": 1, "keepdim": False, "interpolation": mode}
            g = lambda t, q: f(t, q, dim=1, interpolation=mode)
            for variant, layout in LAYOUTS.items():
                each(name, f"{mode}_{variant}", g, [stretched(x, layout), torch.tensor(0.4)], [layout, "contiguous"], args=args)
            each(name, f"{mode}_special", g, [torch.tensor([[1.0, INF, -INF, 2.0], [NAN, 1.0, 2.0, 3.0]]), torch.tensor(0.4)], args=args)
            each(name, f"{mode}_all_nan", g, [torch.tensor([[NAN, NAN, NAN], [NAN, NAN, 1.0]]), torch.tensor(0.4)], args=args, grad=False)
        args = {"dim": None, "keepdim": False, "interpolation": "linear"}
        each(name, "scalar", lambda t, q: f(t, q), [torch.tensor(1.5), torch.tensor(0.4)], args=args)
        each(name, "no_q", lambda t, q: f(t, q), [x, torch.tensor([])], args=args)
        args = {"dim": 0, "keepdim": True, "interpolation": "linear"}
        each(name, "scalar_0", lambda t, q: f(t, q, dim=0, keepdim=True), [torch.tensor(1.5), torch.tensor([0.4, 0.5])], args=args)
        for q in (0.0, 0.25, 1.0):
            args = {"dim": -1, "keepdim": False, "interpolation": "linear", "q": q}
            each(name, f"number_{q}", lambda t: f(t, q, dim=-1), [x], args=args, both=True)


def replaced():
    x = random([3, 4], 124)
    x[0, 1], x[1, 2], x[2, 0], x[2, 3] = NAN, INF, -INF, NAN
    for tag, nan, posinf, neginf in (("default", None, None, None), ("all", 1.5, 2.5, -3.5), ("nan", -1.0, None, None), ("kept", NAN, INF, -INF)):
        f = lambda t: torch.nan_to_num(t, nan, posinf, neginf)
        args = {key: str(v) if v is not None else None for key, v in (("nan", nan), ("posinf", posinf), ("neginf", neginf))}
        for variant, layout in LAYOUTS.items():
            each("nan_to_num", f"{tag}_{variant}", f, [stretched(x, layout)], [layout], args=args, both=variant == "contiguous")
        each("nan_to_num", f"{tag}_empty", f, [x[:0]], args=args)
        each("nan_to_num", f"{tag}_scalar", f, [torch.tensor(NAN)], args=args)
        for half in ("f16", "bf16"):
            case("nan_to_num", f"{tag}_half", f, [x], args=args, dtype=half)
        for kind in (torch.int64, torch.bool):
            case("nan_to_num", f"{tag}_{kind}".replace("torch.", ""), f, [integers([4], 1, 0, 2).to(kind)], args=args, dtype=None)


def pairs():
    x, y = random([3, 4], 125), random([3, 4], 126)
    ends = [1.0, INF, -INF, INF, NAN, -INF, 2.0, 80.0, -80.0, 0.0]
    others = [2.0, INF, -INF, -INF, 1.0, 3.0, -INF, -80.0, 80.0, NAN]
    zeros = [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, NAN, 0.0, -1.0, 2.0, 1.5]
    logs = [2.0, 0.0, -1.0, NAN, 0.0, -3.0, 0.0, INF, INF, INF, 0.25]
    table = {"logaddexp": (torch.logaddexp, x, y, ends, others), "logaddexp2": (torch.logaddexp2, x, y, ends, others), "xlogy": (torch.xlogy, x, y + 2.25, zeros, logs)}
    for name, (f, a, b, ends, others) in table.items():
        for variant, layout in LAYOUTS.items():
            each(name, variant, f, [stretched(a, layout), stretched(b, layout)], [layout, layout], both=True)
            each(name, f"{variant}_second", f, [a, stretched(b, layout)], ["contiguous", layout])
        each(name, "row", f, [a, b[0]], both=True)
        each(name, "column", f, [a[:, :1], b])
        each(name, "scalar", f, [a[0, 0], b])
        each(name, "scalars", f, [a[0, 0], b[0, 0]])
        each(name, "equal", f, [b, b.clone()])
        each(name, "empty", f, [a[:0], b[:0]])
        each(name, "special", f, [torch.tensor(ends), torch.tensor(others)])
        for half in ("f16", "bf16"):
            case(name, "half", f, [a, b], dtype=half, grad=False)
    each("xlogy", "number", lambda t: torch.xlogy(t, 2.5), [x], args={"number": 2.5}, both=True)


def write():
    return write_files({"ops_running.safetensors": (running, quantiles, replaced, pairs)})
