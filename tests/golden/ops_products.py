"""ops_products.safetensors: products added to a tensor, `tensordot`, distances, diagonals.

`op_cases.py` describes the recordings.
"""

import torch

from common import integers, random
from op_cases import INF, NAN, case, each, write_files


def added():
    shapes = {
        "addmm": ([3, 5], [3, 4], [4, 5]),
        "addmv": ([3], [3, 4], [4]),
        "baddbmm": ([2, 3, 5], [2, 3, 4], [2, 4, 5]),
        "addbmm": ([3, 5], [2, 3, 4], [2, 4, 5]),
    }
    for name, (c, a, b) in shapes.items():
        f = getattr(torch, name)
        x, a, b = random(c, 301), random(a, 302), random(b, 303)
        for tag, beta, alpha in (("contiguous", 1, 1), ("scaled", 0.5, -2.0), ("alone", 0, 1.5)):
            args = {"beta": beta, "alpha": alpha}
            each(name, tag, lambda *t: f(*t, beta=beta, alpha=alpha), [x, a, b], args=args, both=True)
        args = {"beta": 1.5, "alpha": 0.5}
        g = lambda *t: f(*t, **args)
        last = f"transposed:{a.dim() - 2},{a.dim() - 1}"
        each(name, "laid", g, [x, a, b], ["strided:0", last, "narrowed:0"], args=args)
        each(name, "row", g, [x[..., :1], a, b], args=args)
        each(name, "scalar", g, [torch.tensor(0.5), a, b], args=args)
        special = x.clone()
        special.view(-1)[:3] = torch.tensor([NAN, INF, -INF])
        each(name, "special", g, [special, a, b], args=args, both=True)
        none = {"beta": 0, "alpha": 1}
        each(name, "special_alone", lambda *t: f(*t, **none), [special, a, b], args=none, both=True)
        empty = {"addmm": (x[:0], a[:0], b), "addmv": (x[:0], a[:0], b), "baddbmm": (x[:0], a[:0], b[:0]), "addbmm": (x[:0], a[:, :0], b)}[name]
        each(name, "empty", g, empty, args=args)
        # Without inner elements, of which a batch has the last dimension of the one and the middle of the other.
        inner = (x, a[..., :0], b.narrow(b.dim() - 2 if b.dim() > 1 else 0, 0, 0))
        each(name, "empty_inner", g, inner, args=args)
        whole = [integers(t.shape, 304 + i, -4, 5) for i, t in enumerate((x, a, b))]
        args = {"beta": 2, "alpha": -3}
        case(name, "integers", lambda *t: f(*t, **args), whole, args=args, dtype=None)
        args = {"beta": 0.5, "alpha": 2.0}
        for dtype in ("f16", "bf16"):
            case(name, "half", lambda *t: f(*t, **args), [x, a, b], args=args, dtype=dtype)


def tensordots():
    def record(tag, dims, a, b, layouts=None, **options):
        args = {"dims": dims}
        each("tensordot", tag, lambda a, b: torch.tensordot(a, b, dims), [a, b], layouts, args=args, **options)

    x, y = random([2, 3, 4], 311), random([3, 4, 5], 312)
    record("contiguous", 2, x, y)
    record("one", 1, x, random([4, 2], 313))
    record("none", 0, random([2], 314), random([3], 315), both=True)
    record("scalar", 0, torch.tensor(1.5), torch.tensor(-2.0))
    record("pairs", [[1, 2], [0, 1]], x, y, both=True)
    record("crossed", [[2, 0], [1, -1]], x, random([3, 4, 2], 316))
    record("laid", [[0], [2]], x, random([5, 3, 2], 317), ["transposed:0,2", "strided:1"])
    record("all", 3, x, random([2, 3, 4], 318))
    record("one_by_many", [[1], [0]], random([2, 1, 4], 319), random([3, 2], 320))
    record("many_by_one", [[1], [0]], x, random([1, 2], 321))
    record("empty", 1, random([0, 3], 322), random([3, 2], 323))
    record("empty_inner", 1, random([2, 0], 322), random([0, 2], 323))
    record("special", 1, torch.tensor([[NAN, 1.0], [INF, 2.0]]), random([2, 2], 324))
    whole = [integers([2, 3], 325, -5, 5), integers([3, 2], 326, -5, 5)]
    case("tensordot", "integers", lambda a, b: torch.tensordot(a, b, 1), whole, args={"dims": 1}, dtype=None)


MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


def distances():
    def record(tag, a, b, p, layouts=None, mode=MODES[0], **options):
        args = {"p": "inf" if p == INF else p, "compute_mode": mode}
        each("cdist", tag, lambda a, b: torch.cdist(a, b, p, mode), [a, b], layouts, args=args, **options)

    x, y = random([2, 4, 3], 331), random([2, 5, 3], 332)
    y[0, 0] = x[0, 1]
    y[1, 1, :2] = x[1, 2, :2]
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, INF):
        tag = str(p).replace(".", "_")
        record(f"p{tag}", x, y, p, both=True)
        record(f"p{tag}_laid", x, y, p, ["transposed:1,2", "strided:0"])
    for mode in MODES[1:]:
        record(mode, x[:1], random([1, 5, 3], 333), 2.0, mode=mode, both=True)
    record("many", random([27, 2], 334), random([3, 2], 335), 2.0)
    record("broadcast", random([2, 1, 3, 2], 336), random([3, 4, 2], 337), 2.0)
    record("broadcast_1", random([3, 2], 336), random([3, 4, 2], 337), 1.0)
    record("empty", x[:, :0], y, 2.0)
    record("empty_batch", x[:0], y[:0], 1.0)
    record("no_features", x[..., :0], y[..., :0], 3.0)
    record("special", torch.tensor([[NAN, 1.0], [INF, 0.0], [1.0, 2.0]]), random([2, 2], 338), 3.0, both=True)
    record("equal", torch.ones(2, 3), torch.ones(2, 3), 2.0, mode=MODES[2], both=True)


def diagonals():
    def embed(tag, x, layout="contiguous", offset=0, dim1=-2, dim2=-1, **options):
        args = {"offset": offset, "dim1": dim1, "dim2": dim2}
        each("diag_embed", tag, lambda t: torch.diag_embed(t, offset, dim1, dim2), [x], [layout], args=args, **options)

    x = random([2, 3], 341)
    embed("contiguous", x)
    embed("above", x, offset=1)
    embed("below", x, offset=-2)
    embed("turned", x, offset=1, dim1=2, dim2=0)
    embed("first", x, "transposed:0,1", dim1=0, dim2=1)
    embed("strided", random([2, 2, 3], 342), "strided:2", offset=-1, dim1=1, dim2=3)
    embed("vector", x[0])
    embed("empty", x[:0])
    embed("nothing", x[:, :0], offset=2)
    embed("special", torch.tensor([NAN, INF, -0.0]))
    case("diag_embed", "integers", torch.diag_embed, [integers([2, 3], 343, -5, 5)], args={"offset": 0, "dim1": -2, "dim2": -1}, dtype=None)
    case("diag_embed", "bool", torch.diag_embed, [integers([3], 343, 0, 2).bool()], args={"offset": 0, "dim1": -2, "dim2": -1}, dtype=None)
    for tag, x, layout, diagonal in (
        ("contiguous", random([3], 344), "contiguous", 0),
        ("above", random([3], 344), "strided:0", 2),
        ("matrix", random([3, 4], 345), "contiguous", 0),
        ("matrix_above", random([3, 4], 345), "transposed:0,1", 1),
        ("matrix_below", random([3, 4], 345), "narrowed:1", -2),
        ("matrix_beyond", random([3, 4], 345), "contiguous", 9),
        ("empty", random([0], 346), "contiguous", 1),
        ("special", torch.tensor([NAN, -INF]), "contiguous", -1),
    ):
        each("diag", tag, lambda t: torch.diag(t, diagonal), [x], [layout], args={"diagonal": diagonal})


FILES = {"ops_products.safetensors": (added, tensordots, distances, diagonals)}


def write():
    return write_files(FILES)
