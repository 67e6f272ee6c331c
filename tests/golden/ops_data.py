"""ops_parts.safetensors (views, padding) and ops_data.safetensors (sorting, indices, sums of products).

`op_cases.py` describes the recordings.
"""

import torch
from torch.nn import functional as F

from common import DTYPES, integers, random
from op_cases import INF, NAN, case, each, write_files

LAYOUTS = {"contiguous": "contiguous", "transposed": "transposed:0,2", "narrowed": "narrowed:2", "strided": "strided:1"}
HALVES = ("f16", "bf16")
EXACT = ("i64", "i32", "u8", "bool")


def python_index(items):
    """The index that JSON says: numbers, null for None, "..." and {"slice": [start, end, step]}."""
    one = lambda item: slice(*item["slice"]) if isinstance(item, dict) else Ellipsis if item == "..." else item
    return tuple(one(item) for item in items)


def rows(table, shape, seed):
    """Each row in the usual layouts, stretched, and in the other dtypes."""
    x = random(shape, seed)
    for name, entries in table.items():
        for tag, f, args in entries:
            for variant, layout in LAYOUTS.items():
                each(name, f"{tag}_{variant}", f, [x], [layout], args=args, both=variant == "contiguous")
            each(name, f"{tag}_expanded", f, [x[:1].expand(shape)], ["expanded:0"], args=args)
            for half in HALVES:
                case(name, f"{tag}_half", f, [x], args=args, dtype=half)
            kind = EXACT[seed % len(EXACT)]
            case(name, f"{tag}_{kind}", f, [integers(shape, 1, 0, 5).to(DTYPES[kind])], args=args, dtype=None)


def views():
    table = {}

    def add(name, tag, f, **args):
        table.setdefault(name, []).append((tag, f, args))

    for tag, dim, (a, b, s) in (
        ("step", 2, (None, None, 2)),
        ("ends", 0, (-2, -1, 1)),
        ("far", 1, (-9, 9, 3)),
        ("nothing", -1, (3, 1, 1)),
        ("last", -1, (-1, None, 5)),
    ):
        index = (slice(None),) * (dim % 3) + (slice(a, b, s),)
        add("slice", tag, lambda t, index=index: t[index], dim=dim, start=a, end=b, step=s)
    for dim, index in ((0, 1), (1, -1), (-1, 2)):
        add("select", f"dim{dim}", lambda t, d=dim, i=index: t.select(d, i), dim=dim, index=index)
    for offset, a, b in ((0, 0, 1), (1, -1, 0), (-1, 1, 2), (7, 0, 2)):
        f = lambda t, o=offset, a=a, b=b: t.diagonal(o, a, b)
        add("diagonal", f"{a}_{b}_{offset}", f, offset=offset, dim1=a, dim2=b)
    for dim, size, step in ((2, 2, 1), (1, 3, 2), (-1, 1, 3), (2, 4, 9)):
        f = lambda t, d=dim, n=size, s=step: t.unfold(d, n, s)
        add("unfold", f"dim{dim}_{size}", f, dim=dim, size=size, step=step)
    add("unflatten", "two", lambda t: t.unflatten(2, (2, -1)), dim=2, sizes=[2, -1])
    add("movedim", "one", lambda t: t.movedim(0, -1), source=[0], destination=[-1])
    add("movedim", "two", lambda t: t.movedim((2, 0), (0, 1)), source=[2, 0], destination=[0, 1])
    add("unbind", "part", lambda t: t.unbind(1)[2], dim=1, part=2, count=3)
    for i, items in enumerate(
        (
            [1],
            [{"slice": [None, None, None]}, -1],
            [{"slice": [1, None, None]}, "...", 0],
            [None, {"slice": [None, None, 2]}, "...", None, {"slice": [-3, -1, None]}],
            ["...", None, 1, 2],
            [0, 1, 2],
        )
    ):
        add("index", str(i), lambda t, items=items: t[python_index(items)], items=items)
    add("repeat", "same", lambda t: t.repeat(2, 1, 3), repeats=[2, 1, 3])
    add("repeat", "more", lambda t: t.repeat(2, 1, 2, 1), repeats=[2, 1, 2, 1])
    add("repeat", "none", lambda t: t.repeat(2, 0, 1), repeats=[2, 0, 1])
    add("repeat_interleave", "middle", lambda t: t.repeat_interleave(2, 1), repeats=2, dim=1)
    add("repeat_interleave", "last", lambda t: t.repeat_interleave(3, -1), repeats=3, dim=-1)
    add("diff", "one", lambda t: t.diff(dim=1), n=1, dim=1)
    add("diff", "two", lambda t: t.diff(n=2), n=2, dim=-1)
    add("diff", "all", lambda t: t.diff(n=9, dim=0), n=9, dim=0)
    add("nonzero", "places", lambda t: t.gt(0).nonzero() if t.dtype != torch.bool else t.nonzero())
    rows(table, [2, 3, 4], 51)
    each("nonzero", "scalar", lambda t: t.gt(0).nonzero(), [torch.tensor(1.5)])
    each("nonzero", "empty", lambda t: t.gt(0).nonzero(), [random([0, 3], 1)])


def pads():
    table = {"pad": []}
    for i, pad in enumerate(([1, 2], [0, 1, 2, 0], [-1, 2, 1, -1], [0, 0, 0, 0, 1, 1], [])):
        for value in (0.0, -1.5) if i < 2 else (0.0,):
            f = lambda t, pad=pad, v=value: F.pad(t, pad, value=v if t.dtype.is_floating_point else 0)
            args = {"pad": pad, "mode": "constant", "value": value}
            table["pad"].append((f"constant{i}{'_value' if value else ''}", f, args))
    rows(table, [2, 3, 4], 52)
    for mode, most in (("reflect", 2), ("replicate", 4), ("circular", 3)):
        for tag, shape, pad in (
            ("one", [2, 3, 4], [1, most]),
            ("two", [2, 2, 3, 4], [1, most, 2, 0]),
            ("three", [1, 2, 3, 3, 3], [1, 2, 0, 1, 2, 2]),
            ("before", [2, 3, 4], [2, 0]),
        ):
            x = random(shape, 53)
            f = lambda t: F.pad(t, pad, mode=mode)
            args = {"pad": pad, "mode": mode, "value": 0}
            for variant, layout in LAYOUTS.items():
                each("pad", f"{mode}_{tag}_{variant}", f, [x], [layout], args=args)
            each("pad", f"{mode}_{tag}_expanded", f, [x[:1].expand(shape)], ["expanded:0"], args=args)
    special = torch.tensor([[NAN, INF, -0.0, -INF]])
    each("pad", "constant_special", lambda t: F.pad(t, [1, 1, 1, 0], value=INF), [special], args={"pad": [1, 1, 1, 0], "mode": "constant", "value": "inf"})
    each("pad", "reflect_special", lambda t: F.pad(t, [2, 3], mode="reflect"), [special], args={"pad": [2, 3], "mode": "reflect", "value": 0})
    each("pad", "constant_empty", lambda t: F.pad(t, [1, 0, 1, 1]), [random([0, 3], 1)], args={"pad": [1, 0, 1, 1], "mode": "constant", "value": 0})


def stable(name, tag, x, layout="contiguous", dtypes=("f32", "f64"), dim=-1, descending=False):
    args = {"dim": dim, "descending": descending}
    for dtype in dtypes:
        f = lambda t: torch.sort(t, stable=True, dim=dim, descending=descending)
        case("sort", f"{tag}_{int(descending)}", f, [x], [layout], args=args, dtype=dtype)
        f = lambda t: torch.argsort(t, stable=True, dim=dim, descending=descending)
        case("argsort", f"{tag}_{int(descending)}", f, [x], [layout], args=args, dtype=dtype)


def orders():
    x, ties = random([2, 3, 4], 61), integers([3, 40], 62, -3, 4).float()
    special = torch.tensor([[NAN, 1.0, INF, -0.0, 0.0, -INF, NAN, -1.0], [0.0, -0.0, 0.0, NAN, -0.0, 1.0, INF, INF]])
    for descending in (False, True):
        for variant, layout in LAYOUTS.items():
            for dim in (0, 1, -1):
                stable("sort", f"{variant}_{dim}", x, layout, ("f32",), dim, descending)
        stable("sort", "ties", ties, dtypes=("f32", "f64", "f16", "bf16"), dim=1, descending=descending)
        stable("sort", "special", special, dtypes=("f32", "f64", "f16", "bf16"), descending=descending)
        stable("sort", "expanded", x[:1].expand(2, 3, 4), "expanded:0", ("f32",), 0, descending)
        stable("sort", "empty", random([0, 3], 1), dim=0, descending=descending)
        stable("sort", "empty_rows", random([3, 0], 1), dim=0, descending=descending)
        stable("sort", "scalar", torch.tensor(1.5), descending=descending)
        for kind in EXACT:
            y = (integers([2, 30], 63, -100, 100) if kind[0] == "i" else integers([2, 30], 63, 0, 200 if kind == "u8" else 2)).to(DTYPES[kind])
            stable("sort", kind, y, dtypes=(None,), descending=descending)
        far = torch.tensor([2**63 - 1, -(2**63), 0, -1, 1])
        stable("sort", "far", far, dtypes=(None,), descending=descending)
    # Without ties, of which PyTorch takes any: a permutation.
    order = torch.tensor([[7, 2, 9, 4, 1, 8, 3, 0, 6, 5], [0, 9, 1, 8, 2, 7, 3, 6, 4, 5]])
    apart = (order.float() / 4).reshape(2, 5, 2)
    nans = torch.tensor([[NAN, 1.0, INF, 0.0, -INF], [3.0, 2.0, 1.0, 5.0, 4.0]])
    for variant, layout in LAYOUTS.items():
        for largest in (True, False):
            for dim, k in ((1, 3), (0, 1), (-1, 2), (1, 0)):
                args = {"k": k, "dim": dim, "largest": largest}
                f = lambda t: torch.topk(t, k, dim, largest, True)
                each("topk", f"{variant}_{dim}_{k}_{int(largest)}", f, [apart], [layout], args=args)
        for dim, k in ((1, 3), (0, 2), (-1, 1)):
            for keep in (True, False):
                args = {"k": k, "dim": dim, "keepdim": keep}
                each("kthvalue", f"{variant}_{dim}_{int(keep)}", lambda t: torch.kthvalue(t, k, dim, keep), [apart], [layout], args=args)
                args = {"dim": dim, "keepdim": keep}
                each("median", f"{variant}_{dim}_{int(keep)}", lambda t: torch.median(t, dim, keep), [apart], [layout], args=args)
    for largest in (True, False):
        args = {"k": 4, "dim": 1, "largest": largest}
        each("topk", f"special_{int(largest)}", lambda t: torch.topk(t, 4, 1, largest, True), [nans], args=args)
        for half in HALVES:
            case("topk", f"half_{int(largest)}", lambda t: torch.topk(t, 4, 1, largest, True), [nans], args=args, dtype=half)
        case("topk", f"i64_{int(largest)}", lambda t: torch.topk(t, 4, 1, largest, True), [order], args=args, dtype=None)
        each("topk", f"scalar_{int(largest)}", lambda t: torch.topk(t, 1, 0, largest, True), [torch.tensor(2.0)], args={"k": 1, "dim": 0, "largest": largest})
    each("median", "special", lambda t: torch.median(t, 1), [nans], args={"dim": 1})
    each("median", "scalar", lambda t: torch.median(t, 0), [torch.tensor(2.0)], args={"dim": 0})
    case("median", "i64", lambda t: torch.median(t, 1), [order], args={"dim": 1}, dtype=None)
    each("kthvalue", "special", lambda t: torch.kthvalue(t, 5, 1), [nans], args={"k": 5, "dim": 1})


def by_index():
    table = random([5, 3], 71)
    ids = torch.tensor([[1, 4, 1], [0, 2, 4]])
    for variant, layout in {"contiguous": "contiguous", "transposed": "transposed:0,1", "narrowed": "narrowed:1", "strided": "strided:0", "expanded": "expanded:0"}.items():
        t = table[:1].expand(5, 3) if variant == "expanded" else table
        for padding in (None, 4):
            f = lambda w, i: F.embedding(i, w, padding_idx=padding)
            each("embedding", f"{variant}_{padding}", f, [t, ids], [layout, "transposed:0,1" if variant == "strided" else "contiguous"], args={"padding_idx": padding})
    plain = lambda w, i: F.embedding(i, w)
    each("embedding", "scalar", plain, [table, torch.tensor(3)], args={"padding_idx": None})
    each("embedding", "empty", plain, [table, ids[:0]], args={"padding_idx": None})
    for half in HALVES:
        case("embedding", "half", plain, [table, ids], args={"padding_idx": None}, dtype=half)
    x, index = random([3, 4], 72), torch.tensor([[2, 0, 1], [0, 2, 2]])
    for variant, layout in {"contiguous": "contiguous", "transposed": "transposed:0,1", "narrowed": "narrowed:1", "strided": "strided:0", "expanded": "expanded:0"}.items():
        t = x[:1].expand(3, 4) if variant == "expanded" else x
        f = lambda x, i, s: x.scatter(0, i, s)
        each("scatter", variant, f, [t, index, random([2, 3], 73)], [layout, "contiguous", "contiguous"], args={"dim": 0})
        f = lambda x, i: x.scatter(1, i, 2.5)
        each("scatter", f"{variant}_value", f, [t, index], [layout, "contiguous"], args={"dim": 1, "value": 2.5})
        f = lambda x, i: x.take_along_dim(i, 1)
        each("take_along_dim", variant, f, [t, torch.tensor([[1, 3], [0, 0], [2, 3]])], [layout, "contiguous"], args={"dim": 1})
        each("take_along_dim", f"{variant}_row", f, [t, torch.tensor([[1, 3]])], [layout, "contiguous"], args={"dim": 1})
    for kind in ("i64", "bool"):
        inputs = [integers([3, 4], 1, 0, 2).to(DTYPES[kind]), index, integers([2, 3], 2, 0, 2).to(DTYPES[kind])]
        case("scatter", kind, lambda x, i, s: x.scatter(0, i, s), inputs, args={"dim": 0}, dtype=None)
    # Three dimensions, of which the index is shorter in two.
    x, index = random([2, 3, 4], 74), torch.tensor([[[1, 0], [1, 1]], [[2, 2], [0, 1]]])[:1]
    each("scatter", "shorter", lambda x, i, s: x.scatter(1, i, s), [x, index, random([1, 2, 2], 75)], args={"dim": 1})


def running_products():
    x = random([2, 3, 4], 81)
    zeros = torch.tensor([[0.0, 2.0, 0.5, 3.0], [2.0, 0.0, 1.5, 0.0], [1.5, -2.0, 0.5, 0.0]])
    special = torch.tensor([[NAN, 1.0, 2.0], [INF, 2.0, -1.0], [1.0, -INF, 3.0]])
    for dim in (0, 1, -1):
        f, args = lambda t: torch.cumprod(t, dim), {"dim": dim}
        for variant, layout in LAYOUTS.items():
            each("cumprod", f"{variant}_{dim}", f, [x], [layout], args=args, both=True)
        each("cumprod", f"zeros_{dim}", f, [zeros], args=args, both=True)
        each("cumprod", f"expanded_{dim}", f, [x[:1].expand(2, 3, 4)], ["expanded:0"], args=args)
    f, args = lambda t: torch.cumprod(t, 0), {"dim": 0}
    each("cumprod", "special", f, [special], args=args, grad=False)
    each("cumprod", "empty", f, [random([0, 3], 1)], args=args)
    each("cumprod", "scalar", f, [torch.tensor(1.5)], args=args)
    for kind in EXACT:
        case("cumprod", kind, f, [integers([3, 2], 1, 0, 4).to(DTYPES[kind])], args=args, dtype=None)
    for half in HALVES:
        case("cumprod", "half", f, [random([3, 2], 82)], args=args, dtype=half)


EQUATIONS = [
    ("ij->ji", [2, 3]),
    ("ij", [2, 3]),
    ("ba", [2, 3]),
    ("ij->", [2, 3]),
    ("ij->j", [2, 3]),
    ("ii", [3, 3]),
    ("ii->i", [3, 3]),
    ("iji->j", [3, 2, 3]),
    ("...ii->...i", [2, 3, 3]),
    ("...", [2, 3]),
    ("b...a->...ab", [2, 3, 4]),
    ("ij,jk->ik", [2, 3], [3, 4]),
    ("ij,jk", [2, 3], [3, 4]),
    ("ij,kj->ik", [2, 3], [4, 3]),
    ("ij,jk->ki", [2, 3], [3, 4]),
    (" i j , j k -> k ", [2, 3], [3, 4]),
    ("i,i->", [4], [4]),
    ("i,i->i", [4], [4]),
    ("i,j->ij", [2], [3]),
    ("i,j", [2], [3]),
    (",i->i", [], [3]),
    ("bij,bjk->bik", [2, 3, 4], [2, 4, 2]),
    ("bhqd,bhkd->bhqk", [2, 2, 3, 4], [2, 2, 5, 4]),
    ("bhqk,bhkd->bqhd", [2, 2, 3, 5], [2, 2, 5, 4]),
    ("bqhd,bkhd->bhqk", [2, 3, 2, 4], [2, 5, 2, 4]),
    ("bij,cij->bc", [2, 3, 4], [5, 3, 4]),
    ("...ij,...jk->...ik", [2, 1, 3, 4], [3, 4, 2]),
    ("...ij,jk->...ik", [2, 2, 3], [3, 4]),
    ("i...,i...->...", [2, 3], [2, 1]),
    ("...i,...i", [2, 3, 4], [4]),
    ("ij,ij->ij", [2, 1], [2, 3]),
    ("ij,jk->ik", [2, 1], [3, 4]),
    ("ij,kl->ik", [2, 3], [4, 5]),
    ("ii,ij->j", [3, 3], [3, 2]),
    ("Ab,bC", [2, 3], [3, 4]),
    ("ij,jk,kl->il", [2, 3], [3, 4], [4, 2]),
    ("bn,anm,bm->ba", [2, 5], [3, 5, 4], [2, 4]),
    ("i,i,i->i", [3], [3], [3]),
    ("a,b,c,d->dcba", [2], [3], [2], [2]),
    ("ij,jk->ik", [0, 3], [3, 2]),
    ("ij,jk->ik", [2, 0], [0, 3]),
    ("bi,bj->bij", [0, 2], [0, 3]),
]


def sums_of_products():
    for i, (equation, *shapes) in enumerate(EQUATIONS):
        inputs = [random(shape, 90 + j) for j, shape in enumerate(shapes)]
        f = lambda *operands: torch.einsum(equation, *operands)
        args = {"equation": equation}
        each("einsum", f"{i}_contiguous", f, inputs, args=args, both=True)
        flat = [len(shape) > 1 and 0 not in shape for shape in shapes]
        if any(flat):
            layouts = ["transposed:0,1" if turn else "contiguous" for turn in flat]
            each("einsum", f"{i}_transposed", f, inputs, layouts, args=args)
            layouts = ["strided:1" if turn else "contiguous" for turn in flat]
            each("einsum", f"{i}_strided", f, inputs, layouts, args=args)
            layouts = ["narrowed:0" if turn else "contiguous" for turn in flat]
            each("einsum", f"{i}_narrowed", f, inputs, layouts, args=args)
    a, b = random([2, 3], 96), random([3, 4], 97)
    for half in HALVES:
        case("einsum", "half", lambda x, y: torch.einsum("ij,jk->ik", x, y), [a, b], args={"equation": "ij,jk->ik"}, dtype=half)
    inputs = [integers([2, 3], 1, -4, 5), integers([3, 4], 2, -4, 5)]
    case("einsum", "i64", lambda x, y: torch.einsum("ij,jk->ik", x, y), inputs, args={"equation": "ij,jk->ik"}, dtype=None)


FILES = {
    "ops_parts.safetensors": (views, pads),
    "ops_data.safetensors": (orders, by_index, running_products, sums_of_products),
}


def write():
    return write_files(FILES)
