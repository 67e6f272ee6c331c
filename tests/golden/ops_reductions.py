"""Logic, masks, reductions and cumulative operations."""

import torch

from common import DTYPES, integers, random
from op_cases import INF, NAN, case, each

ROWS = torch.tensor([[1.0, NAN, 2.0], [INF, -INF, 0.0], [-INF, -INF, -INF], [NAN, NAN, 1.0], [INF, 1.0, 2.0]])
ZEROS = torch.tensor([[0.0, 1.5, -2.0, 0.5], [0.0, 0.0, 3.0, -1.0], [1.0, 2.0, 0.75, -0.0], [1.0, 2.0, 0.5, 1.25]])


def logic():
    numbers = torch.tensor([[0.0, -0.0, 1.0, NAN], [INF, -2.0, 0.0, 0.5]])
    other = torch.tensor([[0.0, 1.0, 0.0, 0.0], [1.0, NAN, 0.0, 3.0]])
    for name in ("logical_and", "logical_or", "logical_xor"):
        f = getattr(torch, name)
        each(name, "contiguous", f, [numbers, other])
        each(name, "transposed", f, [numbers, other], ["transposed:0,1", "strided:1"])
        each(name, "broadcast", f, [numbers[:, :1], other[:1]])
        each(name, "expanded", f, [numbers[:1].expand(2, 4), other], ["expanded:0", "narrowed:0"])
        each(name, "scalar", f, [torch.tensor(1.5), torch.tensor(0.0)])
        each(name, "empty", f, [random([0, 3], 1), random([1, 3], 1)])
        case(name, "bool", f, [numbers.bool(), other.bool()], dtype=None)
        case(name, "mixed", f, [integers([2, 4], 1, -1, 2), other], dtype=None)
    for name in ("logical_not", "isnan", "isinf", "isfinite"):
        f = getattr(torch, name)
        each(name, "contiguous", f, [numbers])
        each(name, "transposed", f, [numbers], ["transposed:0,1"])
        each(name, "narrowed", f, [numbers], ["narrowed:1"])
        each(name, "special", f, [torch.tensor([-INF, INF, NAN, -NAN, 1e-40, 3e38])])
        each(name, "scalar", f, [torch.tensor(NAN)])
        each(name, "empty", f, [random([0, 3], 1)])
        for kind in ("f16", "bf16", "i64", "u8", "bool"):
            case(name, kind, f, [torch.tensor([0, 1, 2]).to(DTYPES[kind])], dtype=None)
    for name in ("any", "all"):
        f = getattr(torch, name)

        def over(variant, x, layout="contiguous", dtype="f32", **args):
            case(name, variant, lambda t: f(t, **args), [x], [layout], args=args, dtype=dtype)

        truths = torch.tensor([[[1, 0], [0, 0]], [[1, 1], [0, 1]], [[0, 0], [0, 0]]]).float()
        over("contiguous", truths)
        for dim in (0, 1, -1):
            over(f"dim{dim}", truths, dim=dim)
        over("keep", truths, dim=1, keepdim=True)
        over("dims", truths, dim=[0, 2])
        over("transposed", truths, "transposed:0,2", dim=1)
        over("expanded", truths[:1].expand(3, 2, 2), "expanded:0", dim=0)
        over("special", ROWS, dim=1)
        over("scalar", torch.tensor(0.5))
        over("empty", random([0, 3], 1), dim=0)
        over("empty_kept", random([0, 3], 1), dim=1)
        over("empty_all", random([0, 3], 1))
        for kind in ("bool", "i64", "f16"):
            over(kind, truths.to(DTYPES[kind]), dtype=None, dim=2)


def folds():
    x3 = random([2, 3, 4], 21)

    def over(name, f, variant, x, layout="contiguous", both=False, shown=None, **args):
        each(name, variant, lambda t: f(t, **args), [x], [layout], args=args if shown is None else shown, both=both)

    def variants(name, f, tag="", shown=lambda args: args, dims=True, **more):
        def one(variant, x, layout="contiguous", both=False, **args):
            args = more | args
            over(name, f, tag + variant, x, layout, both, shown(args), **args)

        one("contiguous", x3, both=True, dim=1)
        for dim in (0, -1):
            one(f"dim{dim}", x3, dim=dim)
        if dims:
            one("dims", x3, dim=[0, 2])
            one("keep", x3, dim=[-1, 0], keepdim=True)
        else:
            one("keep", x3, dim=-2, keepdim=True)
        one("transposed", x3, "transposed:0,2", dim=1)
        one("narrowed", x3, "narrowed:2", dim=2)
        one("expanded", x3[:, :1].expand(2, 3, 4), "expanded:1", dim=1)
        one("scalar", torch.tensor(-1.5), dim=0)
        one("empty_kept", random([0, 3], 1), dim=1)
        one("special", ROWS, both=True, dim=1)
        one("zeros", ZEROS, both=True, dim=1)
        return one

    one = variants("prod", torch.prod, dims=False)
    one("empty", random([0, 3], 1), dim=0)
    over("prod", torch.prod, "all", x3)
    over("prod", torch.prod, "all_zero", ZEROS[:1])
    over("prod", torch.prod, "all_zeros", ZEROS)
    for kind in ("i64", "i32", "u8", "bool"):
        x = integers([2, 3], 23, 0, 5).to(DTYPES[kind])
        case("prod", kind, lambda t: torch.prod(t, 1), [x], args={"dim": 1}, dtype=None)
    one = variants("logsumexp", torch.logsumexp)
    one("empty", random([0, 3], 1), dim=0)
    one("large", torch.tensor([[1000.0, 1000.0], [-1000.0, -999.0]]), both=True, dim=1)
    variants("sum_squares", lambda t, **k: torch.sum(torch.square(t), **k))("empty", random([0, 3], 1), dim=0)
    one = variants("std", torch.std)
    one("biased", x3, dim=1, correction=0)
    one("constant", torch.tensor([[1.5, 1.5, 1.5], [1.0, 2.0, 3.0]]), both=True, dim=1)
    one("one_value", random([3, 1], 2), dim=1)
    over("std", torch.std, "all", x3)
    spelled = {INF: "inf", -INF: "-inf"}
    for tag, p in (("zero", 0), ("half", 0.5), ("one", 1), ("between", 1.5), ("two", 2), ("three", 3), ("minus", -1.5), ("inf", INF), ("minf", -INF)):
        shown = lambda args: {"p": spelled.get(args["ord"], args["ord"])} | {k: v for k, v in args.items() if k != "ord"}
        one = variants("norm", lambda t, ord, **k: torch.linalg.vector_norm(t, ord, **k), f"{tag}_", shown, ord=p)
        over("norm", lambda t: torch.linalg.vector_norm(t, p), f"{tag}_all", x3, shown={"p": spelled.get(p, p)})
        if 0 <= p < INF:
            one("empty", random([0, 3], 1), dim=0)
    for dtype in ("f16", "bf16"):
        case("norm", "low", lambda t: torch.linalg.vector_norm(t, 2, dim=1), [x3], args={"p": 2, "dim": 1}, dtype=dtype)
        case("logsumexp", "low", lambda t: torch.logsumexp(t, 1), [x3], args={"dim": 1}, dtype=dtype)
        case("prod", "low", lambda t: torch.prod(t, 1), [x3], args={"dim": 1}, dtype=dtype)
        case("std", "low", lambda t: torch.std(t, 1), [x3], args={"dim": 1}, dtype=dtype)


def scans():
    x = random([2, 3, 4], 24)
    for dim in (0, 1, -1):
        each("cumsum", f"dim{dim}", lambda t: torch.cumsum(t, dim), [x], args={"dim": dim}, both=True)
    f = lambda t: torch.cumsum(t, 1)
    each("cumsum", "transposed", f, [x], ["transposed:0,2"], args={"dim": 1})
    each("cumsum", "narrowed", f, [x], ["narrowed:1"], args={"dim": 1})
    each("cumsum", "strided", f, [x], ["strided:2"], args={"dim": 1})
    each("cumsum", "expanded", f, [x[:, :1].expand(2, 3, 4)], ["expanded:1"], args={"dim": 1})
    each("cumsum", "special", f, [ROWS], args={"dim": 1})
    each("cumsum", "empty", f, [random([3, 0], 1)], args={"dim": 1})
    each("cumsum", "empty_rows", f, [random([0, 3], 1)], args={"dim": 1})
    each("cumsum", "scalar", lambda t: torch.cumsum(t, 0), [torch.tensor(1.5)], args={"dim": 0})
    each("cumsum", "long", lambda t: torch.cumsum(t, 0), [random([2000], 25)], args={"dim": 0})
    for dtype in ("f16", "bf16"):
        case("cumsum", "half", f, [x], args={"dim": 1}, dtype=dtype)
    for kind in ("i64", "i32", "u8", "bool"):
        case("cumsum", kind, f, [integers([2, 3], 23, 0, 5).to(DTYPES[kind])], args={"dim": 1}, dtype=None)


def record():
    for group in (logic, folds, scans):
        group()
