"""Rearrangements and parts of tensors, vector products, additions by index."""

import torch
from torch.nn import functional as F

from common import DTYPES, integers, random
from op_cases import INF, NAN, case, each

LAYOUTS = {"contiguous": "contiguous", "transposed": "transposed:0,2", "narrowed": "narrowed:2", "strided": "strided:1"}


def orders():
    x = random([2, 3, 4], 41)
    special = torch.tensor([[NAN, INF, 1.0], [-INF, -0.0, 2.0]])
    table = {
        "flip": [("one", torch.flip, {"dims": [1]}), ("two", torch.flip, {"dims": [0, -1]})],
        "roll": [
            ("on", torch.roll, {"shifts": 1, "dims": 1}),
            ("back", torch.roll, {"shifts": -3, "dims": -1}),
            ("round", torch.roll, {"shifts": 7, "dims": 0}),
            ("two", torch.roll, {"shifts": [1, -1], "dims": [0, -1]}),
            ("twice", torch.roll, {"shifts": [2, 5, -1], "dims": [1, 0, 1]}),
        ],
        "tril": [(tag, torch.tril, {"diagonal": d}) for tag, d in (("main", 0), ("above", 1), ("below", -2), ("far", 9))],
        "triu": [(tag, torch.triu, {"diagonal": d}) for tag, d in (("main", 0), ("above", 1), ("below", -2), ("far", -9))],
    }
    for name, rows in table.items():
        for tag, f, args in rows:
            g = lambda t: f(t, **args)
            for variant, layout in LAYOUTS.items():
                each(name, f"{tag}_{variant}", g, [x], [layout], args=args, both=variant == "contiguous")
            each(name, f"{tag}_expanded", g, [x[:1].expand(2, 3, 4)], ["expanded:0"], args=args)
            each(name, f"{tag}_special", g, [special], args=args)
            each(name, f"{tag}_empty", g, [random([0, 3], 1)], args=args)
            case(name, f"{tag}_i64", g, [integers([2, 3], 1, -4, 5)], args=args, dtype=None)
            case(name, f"{tag}_bool", g, [integers([3, 2], 1, 0, 2).bool()], args=args, dtype=None)
    each("flip", "scalar", lambda t: torch.flip(t, []), [torch.tensor(1.5)], args={"dims": []})


def parts():
    x = random([5, 3, 4], 42)
    for variant, layout in LAYOUTS.items():
        for part in (0, 1, 2):
            args = {"size": 2, "dim": 0, "part": part}
            each("split", f"{variant}_{part}", lambda t: torch.split(t, 2, 0)[part], [x], [layout], args=args)
        for chunks, dim in ((2, 0), (4, 0), (7, -1)):
            count = len(torch.chunk(x, chunks, dim))
            args = {"chunks": chunks, "dim": dim, "part": count - 1, "count": count}
            each("chunk", f"{variant}_{chunks}", lambda t: torch.chunk(t, chunks, dim)[-1], [x], [layout], args=args)
    empty = random([0, 3], 1)
    each("split", "empty", lambda t: torch.split(t, 2, 0)[0], [empty], args={"size": 2, "dim": 0, "part": 0})
    each("chunk", "empty", lambda t: torch.chunk(t, 3, 0)[2], [empty], args={"chunks": 3, "dim": 0, "part": 2, "count": 3})


def vectors():
    a, b = random([5], 43), random([5], 44)
    for name, f in (("dot", torch.dot), ("outer", torch.outer)):
        each(name, "contiguous", f, [a, b])
        each(name, "strided", f, [a, b], ["strided:0", "narrowed:0"])
        each(name, "expanded", f, [a[:1].expand(5), b], ["expanded:0", "contiguous"])
        each(name, "one", f, [a[:1], b[:1]])
        each(name, "empty", f, [a[:0], b[:0]])
        each(name, "special", f, [torch.tensor([NAN, 1.0, INF]), torch.tensor([0.0, 2.0, -INF])])
        case(name, "i64", f, [integers([3], 1, -4, 5), integers([3], 2, -4, 5)], dtype=None)
    each("outer", "lengths", torch.outer, [a, b[:3]])


def by_index():
    x = random([3, 4], 45)
    index = torch.tensor([2, 0, 2])

    def add(variant, dim, x, source, index=index, layouts=("contiguous", "contiguous")):
        layouts = [layouts[0], "contiguous", layouts[1]]
        each("index_add", variant, lambda t, i, s: t.index_add(dim, i, s), [x, index, source], layouts, args={"dim": dim})

    add("contiguous", 0, x, random([3, 4], 46))
    add("dim1", 1, x, random([3, 3], 46))
    add("last", -1, x, random([3, 3], 46))
    add("transposed", 0, x, random([3, 4], 46), layouts=("transposed:0,1", "transposed:0,1"))
    add("strided", 0, x, random([3, 4], 46), layouts=("strided:0", "narrowed:1"))
    add("expanded", 0, x[:1].expand(3, 4), random([1, 4], 46).expand(3, 4), layouts=("expanded:0", "expanded:0"))
    add("special", 0, torch.tensor([NAN, 1.0, INF]), torch.tensor([1.0, 2.0, -INF]))
    add("nothing", 0, x, random([0, 4], 46), index[:0])
    add("empty", 0, random([3, 0], 1), random([3, 0], 46))
    for kind in ("i64", "i32"):
        inputs = [integers([3], 1, -4, 5).to(DTYPES[kind]), index, integers([3], 2, -4, 5).to(DTYPES[kind])]
        case("index_add", kind, lambda t, i, s: t.index_add(0, i, s), inputs, args={"dim": 0}, dtype=None)
    classes = integers([2, 3], 47, 0, 4)
    for variant, layout in {"contiguous": "contiguous", "transposed": "transposed:0,1", "strided": "strided:1", "narrowed": "narrowed:0"}.items():
        case("one_hot", variant, lambda t: F.one_hot(t, 4), [classes], [layout], args={"num_classes": 4}, dtype=None)
    case("one_hot", "scalar", lambda t: F.one_hot(t, 4), [torch.tensor(2)], args={"num_classes": 4}, dtype=None)
    case("one_hot", "empty", lambda t: F.one_hot(t, 4), [classes[:0]], args={"num_classes": 4}, dtype=None)


def record():
    for group in (orders, parts, vectors, by_index):
        group()
