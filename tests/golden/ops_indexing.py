"""ops_indexing.safetensors: tensors as indices, and writes by index.

`op_cases.py` describes the recordings. `items` are those of `index` (ops_data.py), and `{"tensor": n}` for input n.
"""

import torch

from op_cases import INF, NAN, case, each, write_files
from common import integers, random

LAYOUTS = {"contiguous": "contiguous", "transposed": "transposed:0,1", "narrowed": "narrowed:1", "strided": "strided:0", "expanded": "expanded:0"}


def stretched(x, layout):
    """What an expanded layout can hold."""
    return x[:1].expand(x.shape) if layout.startswith("expanded") else x


def index_of(items, tensors):
    """The index that items stand for."""

    def item(it):
        if it is None or isinstance(it, int):
            return it
        if it == "...":
            return Ellipsis
        if "tensor" in it:
            return tensors[it["tensor"]]
        return slice(*it["slice"])

    return tuple(item(it) for it in items)


T1, T2, T3 = {"tensor": 1}, {"tensor": 2}, {"tensor": 3}
ALL = {"slice": [None, None, None]}


def part(start, end, step=None):
    return {"slice": [start, end, step]}


def indices():
    """Items, and the index tensors, of a tensor of shape [3, 4, 5]."""
    rows, columns = torch.tensor([2, 0, -1, 0]), torch.tensor([3, -4, 1, 1])
    mask = integers([3, 4], 5, 0, 2).bool()
    return {
        "first": ([T1], [rows]),
        "middle": ([ALL, T1, part(1, 3)], [columns]),
        "last": (["...", T1], [torch.tensor([4, 0, 0, -5, 2])]),
        "matrix": ([ALL, T1], [torch.tensor([[0, 3], [2, -1]])]),
        "adjacent": ([T1, T2], [rows, columns]),
        "adjacent_last": ([ALL, T1, T2], [columns, torch.tensor([0, -1, 4, 4])]),
        "apart": ([T1, ALL, T2], [rows, torch.tensor([0, -1, 4, 4])]),
        "apart_newaxis": ([T1, None, T2], [rows, columns]),
        "newaxis": ([None, T1, "...", None], [rows]),
        "broadcast": ([T1, T2], [rows[:, None], columns[None, :3]]),
        "broadcast_apart": ([T1, ALL, T2], [rows[:2, None], torch.tensor([[0, -1, 4]])]),
        "all_three": ([T1, T2, T3], [rows, columns, torch.tensor([0, 4, -2, -2])]),
        "number": ([1, ALL, T1], [torch.tensor([0, -1])]),
        "number_between": ([T1, 2, T2], [rows, torch.tensor([0, -1, 4, 4])]),
        "scalar_index": ([ALL, T1], [torch.tensor(-2)]),
        "scalar_and_list": ([T1, ALL, T2], [torch.tensor(1), torch.tensor([0, 3])]),
        "steps": ([part(None, None, 2), T1, part(-3, None)], [columns]),
        "i32": ([ALL, T1], [columns.to(torch.int32)]),
        "none": ([ALL, T1], [torch.tensor([], dtype=torch.int64)]),
        "mask": ([T1], [integers([3, 4, 5], 6, 0, 2).bool()]),
        "mask_first": ([T1, part(1, 3)], [mask]),
        "mask_last": ([ALL, T1], [integers([4, 5], 7, 0, 2).bool()]),
        "mask_row": ([ALL, T1, 2], [torch.tensor([True, False, True, True])]),
        "mask_apart": ([T1, ALL, T2], [torch.tensor([True, False, True]), torch.tensor([[0], [-1]])]),
        "mask_none": ([T1], [torch.zeros(3, 4, dtype=torch.bool)]),
        "mask_true": ([T1, 0], [torch.tensor(True)]),
        "mask_false": (["...", T1], [torch.tensor(False)]),
    }


def special():
    return torch.tensor([NAN, INF, -INF, -0.0])


def index():
    x = random([3, 4, 5], 81)
    for name, (items, tensors) in indices().items():
        args, f = {"items": items}, lambda t, *i: t[index_of(items, [t, *i])]
        each("index_tensor", name, f, [x, *tensors], args=args, both=name in ("first", "apart", "mask_first"))
    for name in ("middle", "adjacent", "apart", "mask_first"):
        items, tensors = indices()[name]
        args, f = {"items": items}, lambda t, *i: t[index_of(items, [t, *i])]
        for variant, layout in LAYOUTS.items():
            if variant != "contiguous":
                layouts = [layout] + ["contiguous"] * len(tensors)
                each("index_tensor", f"{name}_{variant}", f, [stretched(x, layout), *tensors], layouts, args=args)
        for dtype in ("f16", "bf16"):
            case("index_tensor", f"{name}_half", f, [x, *tensors], args=args, dtype=dtype)
    one = {"items": [T1]}
    f = lambda t, i: t[i]
    each("index_tensor", "special", f, [special(), torch.tensor([3, 0, -3, 0])], args=one)
    each("index_tensor", "of_empty", f, [x[:0], torch.tensor([], dtype=torch.int64)], args=one)
    each("index_tensor", "of_scalar", f, [torch.tensor(1.5), torch.tensor(True)], args=one)
    each("index_tensor", "index_strided", f, [x[:, 0, 0], integers([4, 3], 8, -3, 3)], ["contiguous", "transposed:0,1"], args=one)
    for kind in (torch.int64, torch.int32, torch.uint8, torch.bool):
        case("index_tensor", f"of_{kind}".replace("torch.", ""), f, [integers([4], 9, 0, 2).to(kind), torch.tensor([1, -1])], args=one, dtype=None)


def index_put():
    x = random([3, 4, 5], 82)

    def put(items, accumulate):
        # PyTorch's own takes tensors only: the places of everything are indexed by its own rules.
        def f(t, *rest):
            places = torch.arange(t.numel()).reshape(t.shape)[index_of(items, [t, *rest])]
            values = rest[-1].expand(places.shape)
            return t.reshape(-1).index_put((places,), values, accumulate).reshape(t.shape)

        return f

    unique = {"first": [2, 0, -2], "middle": [3, -4, 1]}
    for name, (items, tensors) in indices().items():
        if name in unique:
            tensors = [torch.tensor(unique[name])]
        shape = x[index_of(items, [x, *tensors])].shape
        values = random(shape, 83)
        args = {"items": items, "accumulate": True}
        each("index_put", f"add_{name}", put(items, True), [x, *tensors, values], args=args, both=name in ("first", "apart"))
        if name in unique or name.startswith("mask"):
            args = {"items": items, "accumulate": False}
            each("index_put", f"set_{name}", put(items, False), [x, *tensors, values], args=args, both=name in unique)
    items, tensors = indices()["adjacent"]
    for accumulate in (True, False):
        # One place twice: of one value, so that it does not matter which stays.
        args = {"items": items, "accumulate": accumulate}
        each("index_put", f"one_{accumulate}", put(items, accumulate), [x, *tensors, random([], 84)], args=args)
        each("index_put", f"row_{accumulate}", put(items, accumulate), [x, *tensors, random([5], 84)], args=args)
        for variant, layout in LAYOUTS.items():
            layouts = [layout, "contiguous", "contiguous", "transposed:0,1"]
            where = [torch.tensor([2, 0, -2, 0]), torch.tensor([3, -4, 1, 1])]
            each("index_put", f"{accumulate}_{variant}", put(items, accumulate), [stretched(x, layout), *where, random([4, 5], 85)], layouts, args=args)
        one = {"items": [T1], "accumulate": accumulate}
        f = lambda t, i, v: t.index_put((i,), v, accumulate)
        each("index_put", f"{accumulate}_special", f, [special(), torch.tensor([3, 0]), torch.tensor([NAN, 1.0])], args=one)
        each("index_put", f"{accumulate}_empty", f, [x[:0], torch.tensor([], dtype=torch.int64), random([0, 4, 5], 1)], args=one)
        each("index_put", f"{accumulate}_scalar", put([T1], accumulate), [torch.tensor(1.5), torch.tensor(True), torch.tensor([2.0])], args=one)
        case("index_put", f"{accumulate}_half", f, [x, torch.tensor([0, 2]), random([2, 4, 5], 86)], args=one, dtype="f16")
        case("index_put", f"{accumulate}_i64", f, [integers([4], 1, 0, 9), torch.tensor([0, -2]), torch.tensor([7, 8])], args=one, dtype=None)


def masked_scatter():
    x, mask, source = random([3, 4], 87), integers([3, 4], 88, 0, 2).bool(), random([4, 4], 89)
    f = lambda t, m, s: t.masked_scatter(m, s)
    for variant, layout in LAYOUTS.items():
        layouts = [layout, layout, "contiguous"]
        each("masked_scatter", variant, f, [stretched(x, layout), stretched(mask, layout), source], layouts)
    each("masked_scatter", "source_transposed", f, [x, mask, source], ["contiguous", "contiguous", "transposed:0,1"], both=True)
    each("masked_scatter", "exact", f, [x, mask, source.reshape(-1)[: int(mask.sum())]])
    each("masked_scatter", "mask_row", f, [x, mask[0], source])
    each("masked_scatter", "tensor_row", f, [x[0], mask, source])
    each("masked_scatter", "mask_column", f, [x[0], mask[:, :1], source])
    each("masked_scatter", "none", f, [x, torch.zeros(3, 4, dtype=torch.bool), source[:0]])
    each("masked_scatter", "special", f, [special(), torch.tensor([True, False, True, False]), torch.tensor([1.0, NAN])])
    each("masked_scatter", "empty", f, [x[:0], mask[:0], source])
    each("masked_scatter", "scalar", f, [torch.tensor(1.5), torch.tensor(True), source])
    case("masked_scatter", "i64", f, [integers([3, 4], 1, 0, 9), mask, integers([4, 4], 2, 0, 9)], dtype=None)
    case("masked_scatter", "half", f, [x, mask, source], dtype="bf16")


def by_list():
    x = random([3, 4, 5], 90)
    for variant, layout in LAYOUTS.items():
        for dim in (0, 1, -1):
            index = torch.tensor([2, -1, 0, 2])
            args = {"dim": dim, "value": -1.5}
            each("index_fill", f"{variant}_{dim}", lambda t, i: t.index_fill(dim, i, -1.5), [stretched(x, layout), index], [layout, "contiguous"], args=args)
            args = {"dim": dim}
            # The gradient of its own value refuses negative indices.
            each("index_fill", f"tensor_{variant}_{dim}", lambda t, i, v: t.index_fill(dim, i, v), [stretched(x, layout), index.abs(), random([], 91)], [layout, "contiguous", "contiguous"], args=args)
            unique = torch.tensor([2, 0])
            source = random([2 if d == dim % 3 else n for d, n in enumerate(x.shape)], 92)
            f = lambda t, i, s: t.index_copy(dim, i, s)
            each("index_copy", f"{variant}_{dim}", f, [stretched(x, layout), unique, source], [layout, "contiguous", "transposed:0,2"], args=args)
    zero = {"dim": 0}
    f = lambda t, i, s: t.index_copy(0, i, s)
    g = lambda t, i, v: t.index_fill(0, i, v)
    none = torch.tensor([], dtype=torch.int64)
    each("index_copy", "special", f, [special(), torch.tensor([3, 0]), torch.tensor([NAN, 1.0])], args=zero)
    each("index_copy", "empty", f, [x[:0], none, x[:0]], args=zero)
    each("index_copy", "none", f, [x, none, x[:0]], args=zero)
    each("index_copy", "scalar", f, [torch.tensor(1.5), torch.tensor([0]), torch.tensor([2.5])], args=zero)
    each("index_copy", "scalars", f, [torch.tensor(1.5), torch.tensor(0), torch.tensor(2.5)], args=zero)
    case("index_copy", "i64", f, [integers([4, 2], 1, 0, 9), torch.tensor([0, 3]), integers([2, 2], 2, 0, 9)], args=zero, dtype=None)
    case("index_copy", "bool", f, [integers([4], 1, 0, 2).bool(), torch.tensor([0, 3]), torch.tensor([True, False])], args=zero, dtype=None)
    case("index_copy", "half", f, [x, torch.tensor([0]), x[1:2]], args=zero, dtype="f16")
    each("index_fill", "special", g, [special(), torch.tensor([3, 0]), torch.tensor(NAN)], args=zero)
    each("index_fill", "empty", g, [x[:0], none, torch.tensor(1.0)], args=zero)
    each("index_fill", "none", g, [x, none, torch.tensor(1.0)], args=zero)
    each("index_fill", "scalar", g, [torch.tensor(1.5), torch.tensor([0]), torch.tensor(2.5)], args=zero)
    each("index_fill", "scalar_index", g, [x, torch.tensor(1), torch.tensor(2.5)], args=zero)
    case("index_fill", "i64", lambda t, i: t.index_fill(0, i, 7), [integers([4, 2], 1, 0, 9), torch.tensor([0, 3])], args={"dim": 0, "value": 7}, dtype=None)
    case("index_fill", "half", lambda t, i: t.index_fill(0, i, 0.5), [x, torch.tensor([0])], args={"dim": 0, "value": 0.5}, dtype="bf16")


def write():
    return write_files({"ops_indexing.safetensors": (index, index_put, masked_scatter, by_list)})
