"""ops_counting.safetensors: reductions by index, repeats, weighted draws, unique elements, counts, searches, meshgrids.

`op_cases.py` describes the recordings.
"""

import torch

from op_cases import INF, NAN, case, each, write_files
from common import integers, random

LAYOUTS = {"contiguous": "contiguous", "transposed": "transposed:0,1", "narrowed": "narrowed:1", "strided": "strided:0", "expanded": "expanded:0"}


def stretched(x, layout):
    """What an expanded layout can hold."""
    return x[:1].expand(x.shape) if layout.startswith("expanded") else x


def scatter_reduce():
    x, source = random([3, 5], 101), random([4, 6], 102)
    index = torch.tensor([[2, 0, 1, 1], [1, 1, 0, 1], [0, 0, 2, 2]])
    special = torch.tensor([1.0, NAN, 0.0, INF, 2.0])
    zeros = torch.tensor([[0.0, 2.0, 3.0, 0.0], [4.0, 0.0, 5.0, 2.0], [0.5, 0.0, 0.0, 1.5]])
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include_self in (True, False):
            args = {"dim": 0, "reduce": reduce, "include_self": include_self}
            tag = f"{reduce}_{include_self}"

            def f(t, i, s, dim=0):
                # Its gradient refuses sources that are larger than the index.
                s = s[tuple(slice(n) for n in i.shape)] if i.dim() else s
                return t.scatter_reduce(dim, i, s, reduce, include_self=include_self)

            layouts = LAYOUTS.items() if include_self else list(LAYOUTS.items())[:2]
            for variant, layout in layouts:
                inputs = [stretched(x, layout), index, stretched(source, layout)]
                each("scatter_reduce", f"{tag}_{variant}", f, inputs, [layout, "contiguous", layout], args=args)
            each("scatter_reduce", f"{tag}_dim1", lambda t, i, s: f(t, i, s, 1), [x, index + 2, source], args={**args, "dim": 1})
            each("scatter_reduce", f"{tag}_ties", f, [torch.ones(3, 4), index, torch.ones(3, 4)], args=args)
            each("scatter_reduce", f"{tag}_zeros", f, [zeros.flip(0), index, zeros], args=args, both=True)
            each("scatter_reduce", f"{tag}_empty", f, [x[:0], index[:0], source[:0]], args=args)
            each("scatter_reduce", f"{tag}_none", f, [x, index[:0], source], args=args)
            each("scatter_reduce", f"{tag}_scalar", f, [torch.tensor(1.5), torch.tensor(0), torch.tensor(2.5)], args=args)
            each("scatter_reduce", f"{tag}_special", f, [special, torch.tensor([0, 2, 2, 4, 1]), torch.tensor([NAN, 1.0, INF, -INF, 3.0])], args=args)
            whole = [integers([3, 5], 1, -4, 5), index, integers([3, 4], 2, -4, 5)]
            case("scatter_reduce", f"{tag}_i64", f, whole, args=args, dtype=None)
            if reduce != "mean":
                case("scatter_reduce", f"{tag}_bool", f, [whole[0] > 0, index, whole[2] > 0], args=args, dtype=None)
                case("scatter_reduce", f"{tag}_half", f, [x, index, source], args=args, dtype="f16")


def repeat_interleave():
    x = random([3, 4], 103)
    for variant, layout in LAYOUTS.items():
        for dim, repeats in ((0, [2, 0, 3]), (1, [1, 2, 0, 1]), (-1, [2])):
            f = lambda t, r: t.repeat_interleave(r, dim)
            each("repeat_interleave", f"by_{variant}_{dim}", f, [stretched(x, layout), torch.tensor(repeats)], [layout, "contiguous"], args={"dim": dim})
    f = lambda t, r: t.repeat_interleave(r, 0)
    each("repeat_interleave", "by_scalar", f, [x, torch.tensor(2)], args={"dim": 0})
    each("repeat_interleave", "by_i32", f, [x, torch.tensor([1, 0, 2], dtype=torch.int32)], args={"dim": 0})
    each("repeat_interleave", "by_none", f, [x, torch.tensor([0, 0, 0])], args={"dim": 0})
    each("repeat_interleave", "by_empty", f, [x[:0], torch.tensor([], dtype=torch.int64)], args={"dim": 0})
    each("repeat_interleave", "by_special", f, [torch.tensor([NAN, INF]), torch.tensor([1, 2])], args={"dim": 0})


def multinomial():
    def drawn(n, replacement):
        def f(t):
            torch.manual_seed(5)
            return torch.multinomial(t, n, replacement)

        return f

    rows = random([4, 7], 104, low=0.0)
    for n, replacement in ((1, False), (1, True), (3, False), (7, False), (5, True), (20, True)):
        args, tag = {"num_samples": n, "replacement": replacement}, f"{n}_{replacement}"
        for variant, layout in LAYOUTS.items():
            both = variant in ("contiguous", "transposed")
            each("multinomial", f"{tag}_{variant}", drawn(n, replacement), [stretched(rows, layout)], [layout], args=args, grad=False, both=both)
        each("multinomial", f"{tag}_vector", drawn(n, replacement), [rows[0]], args=args, grad=False, both=True)
        each("multinomial", f"{tag}_zeros", drawn(n, replacement), [torch.tensor([0.0, 1.0, 2.0, 3.0, 0.5, 0.0, 0.25, 0.0, 4.0, 1.0])], args=args, grad=False)
        each("multinomial", f"{tag}_no_rows", drawn(n, replacement), [rows[:0]], args=args, grad=False)
        for dtype in ("f16", "bf16"):
            case("multinomial", f"{tag}_half", drawn(n, replacement), [random([2, 9], 105, low=0.25)], args=args, dtype=dtype, grad=False)
    for replacement in (False, True):
        args = {"num_samples": 50, "replacement": replacement}
        each("multinomial", f"many_{replacement}", drawn(50, replacement), [random([300], 106, low=0.25)], args=args, grad=False, both=True)


def unique():
    for name, f in (("unique", torch.unique), ("unique_consecutive", torch.unique_consecutive)):
        found = lambda dim: lambda t: f(t, return_inverse=True, return_counts=True, dim=dim)
        x = integers([4, 3], 107, 0, 3)
        x[2] = x[1]
        for dim in (None, 0, 1, -1):
            args = {"dim": dim}
            for variant, layout in LAYOUTS.items():
                each(name, f"{variant}_{dim}", found(dim), [stretched(x, layout).double()], [layout], args=args, grad=False)
            for kind in (torch.int64, torch.int32, torch.uint8, torch.bool):
                case(name, f"{dim}_{kind}".replace("torch.", ""), found(dim), [x.to(kind)], args=args, dtype=None)
            case(name, f"{dim}_half", found(dim), [x.double()], args=args, dtype="f16", grad=False)
            each(name, f"{dim}_cube", found(dim), [integers([3, 2, 4], 108, 0, 2).double()], ["transposed:0,2"], args=args, grad=False)
        none = {"dim": None}
        each(name, "special", found(None), [torch.tensor([INF, NAN, -INF, NAN, 1.0, 1.0, -2.0, INF])], args=none, grad=False)
        each(name, "empty", found(None), [torch.zeros(0, 3)], args=none, grad=False)
        each(name, "empty_0", found(0), [torch.zeros(0, 3)], args={"dim": 0}, grad=False)
        each(name, "scalar", found(None), [torch.tensor(2.0)], args=none, grad=False)


def counts():
    x = integers([9], 109, 0, 6)
    weights = random([9], 110)
    for minlength in (0, 3, 10):
        args = {"minlength": minlength}
        f = lambda t, *w: torch.bincount(t, *w, minlength=minlength)
        for kind in (torch.int64, torch.int32, torch.uint8):
            case("bincount", f"{minlength}_{kind}".replace("torch.", ""), f, [x.to(kind)], args=args, dtype=None)
        for layout in ("contiguous", "strided:0", "narrowed:0"):
            each("bincount", f"{minlength}_{layout}", f, [x, weights], [layout, layout], args=args, grad=False, both=True)
        for dtype in ("f16", "bf16"):
            case("bincount", f"{minlength}_half", f, [x, weights], args=args, dtype=dtype, grad=False)
        case("bincount", f"{minlength}_whole", f, [x, integers([9], 1, -3, 4)], args=args, dtype=None)
        each("bincount", f"{minlength}_special", f, [x, torch.tensor([NAN, INF, 1.0, -INF, 2.0, 0.0, 1.0, 1.0, 1.0])], args=args, grad=False)
        case("bincount", f"{minlength}_empty", f, [x[:0]], args=args, dtype=None)
        each("bincount", f"{minlength}_empty_weights", f, [x[:0], weights[:0]], args=args, grad=False)
    y = random([3, 4, 2], 111) * integers([3, 4, 2], 112, 0, 2)
    for dim in (None, 0, -1, [0, 2]):
        args = {"dim": dim}
        f = lambda t: torch.count_nonzero(t, dim=dim)
        for variant, layout in LAYOUTS.items():
            each("count_nonzero", f"{dim}_{variant}", f, [stretched(y, layout)], [layout], args=args, grad=False)
        for kind in (torch.int64, torch.int32, torch.uint8, torch.bool):
            case("count_nonzero", f"{dim}_{kind}".replace("torch.", ""), f, [y.to(kind)], args=args, dtype=None)
        each("count_nonzero", f"{dim}_empty", f, [y[:, :0]], args=args, grad=False)
    none = {"dim": None}
    each("count_nonzero", "special", torch.count_nonzero, [torch.tensor([NAN, INF, 0.0, -0.0])], args=none, grad=False)
    each("count_nonzero", "scalar", torch.count_nonzero, [torch.tensor(2.0)], args=none, grad=False)


def searches():
    rows = random([3, 6], 113).sort(-1).values
    values = torch.cat([random([3, 4], 114), rows[:, 1:3]], 1)
    for right in (False, True):
        args = {"right": right}
        f = lambda s, v: torch.searchsorted(s, v, right=right)
        for variant, layout in LAYOUTS.items():
            each("searchsorted", f"{right}_{variant}", f, [stretched(rows, layout), stretched(values, layout)], [layout, layout], args=args, grad=False, both=True)
        each("searchsorted", f"{right}_vector", f, [rows[0], values], args=args, grad=False)
        each("searchsorted", f"{right}_scalar_value", f, [rows[0], values[0, 0]], args=args, grad=False)
        each("searchsorted", f"{right}_empty", f, [rows[0, :0], values], args=args, grad=False)
        each("searchsorted", f"{right}_no_values", f, [rows, values[:, :0]], args=args, grad=False)
        ends = torch.tensor([-INF, -1.0, -0.0, 2.0, INF])
        each("searchsorted", f"{right}_special", f, [ends, torch.tensor([NAN, INF, -INF, 0.0, -0.0, 3.0])], args=args, grad=False)
        g = lambda s, v, o: torch.searchsorted(s, v, right=right, sorter=o)
        mixed = random([3, 6], 115)
        order = mixed.argsort(-1)
        each("searchsorted", f"{right}_sorter", g, [mixed, values, order], args={**args, "sorter": True}, grad=False)
        case("searchsorted", f"{right}_half", f, [rows, values], args=args, dtype="f16", grad=False)
        for kind in (torch.int64, torch.int32, torch.uint8):
            case("searchsorted", f"{right}_{kind}".replace("torch.", ""), f, [torch.tensor([1, 3, 3, 7]).to(kind), integers([2, 5], 1, 0, 9).to(kind)], args=args, dtype=None)
        h = lambda t, b: torch.bucketize(t, b, right=right)
        for variant, layout in LAYOUTS.items():
            each("bucketize", f"{right}_{variant}", h, [stretched(values, layout), rows[0]], [layout, "contiguous"], args=args, grad=False, both=True)
        each("bucketize", f"{right}_boundaries", h, [values, rows[1]], ["contiguous", "strided:0"], args=args, grad=False)
        each("bucketize", f"{right}_special", h, [torch.tensor([NAN, INF, -INF, 0.0]), ends], args=args, grad=False)
        each("bucketize", f"{right}_empty", h, [values[:0], rows[0]], args=args, grad=False)
        each("bucketize", f"{right}_none", h, [values, rows[0, :0]], args=args, grad=False)
        each("bucketize", f"{right}_scalar", h, [values[0, 0], rows[0]], args=args, grad=False)
        case("bucketize", f"{right}_i64", h, [integers([2, 5], 1, 0, 9), torch.tensor([1, 3, 3, 7])], args=args, dtype=None)


def meshgrid():
    a, b, c = random([3], 116), random([4], 117), random([2], 118)
    for indexing in ("ij", "xy"):
        sets = {"one": [a], "two": [a, b], "three": [a, b, c], "scalar": [a[0], b], "second_scalar": [a, b[0]], "empty": [a[:0], b], "special": [torch.tensor([NAN, INF]), b]}
        for variant, tensors in sets.items():
            for part in range(len(tensors)):
                args = {"indexing": indexing, "part": part}
                f = lambda *t: torch.meshgrid(*t, indexing=indexing)[part]
                each("meshgrid", f"{indexing}_{variant}_{part}", f, tensors, args=args, both=variant == "two")
                if variant == "two":
                    for layout in ("strided:0", "narrowed:0"):
                        each("meshgrid", f"{indexing}_{layout}_{part}", f, tensors, [layout, layout], args=args)
        case("meshgrid", f"{indexing}_i64", lambda *t: torch.meshgrid(*t, indexing=indexing)[0], [torch.arange(3), torch.arange(2)], args={"indexing": indexing, "part": 0}, dtype=None)


def write():
    return write_files({"ops_counting.safetensors": (scatter_reduce, repeat_interleave, multinomial, unique, counts, searches, meshgrid)})
