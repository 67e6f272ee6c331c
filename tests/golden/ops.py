"""ops.safetensors: single tensor operations, forward and gradient; `op_cases.py` describes the recordings."""

import torch
from torch.nn import functional as F

import ops_arrangements
import ops_elementwise
import ops_reductions
from common import DTYPES, NAMES, integers, random, write_safetensors
from op_cases import CASES, INF, NAN, TENSORS, case, each


def binary_ops():
    table = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}
    special = torch.tensor([0.0, -0.0, 1.0, INF, -INF, NAN, 2.0, INF])
    other = torch.tensor([0.0, 1.0, 0.0, INF, 1.0, 1.0, -INF, 0.0])
    for name, f in table.items():
        a, b = random([3, 4], 1), random([3, 4], 2, low=0.5)
        each(name, "contiguous", f, [a, b])
        each(name, "transposed", f, [a, b], ["transposed:0,1", "contiguous"])
        each(name, "strided", f, [a, b], ["strided:1", "narrowed:0"])
        each(name, "expanded", f, [a[:1].expand(3, 4), b[:, :1].expand(3, 4)], ["expanded:0", "expanded:1"])
        each(name, "broadcast", f, [random([2, 1, 4], 3), random([3, 1], 4, low=0.5)])
        each(name, "broadcast_row", f, [random([3, 4], 3), random([4], 4, low=0.5)])
        each(name, "scalar", f, [torch.tensor(1.5), torch.tensor(-0.25)])
        each(name, "broadcast_0d", f, [random([2, 3], 5), torch.tensor(0.75)])
        each(name, "empty", f, [random([0, 3], 5), random([1, 3], 6)])
        each(name, "empty_by_one", f, [random([2, 0], 5), random([2, 1], 6)])
        each(name, "special", f, [special, other])
        each(name, "number", lambda x: f(x, 1.5), [a], args={"scalar": 1.5})


def unary_ops():
    table = {
        "neg": torch.neg,
        "exp": torch.exp,
        "log": torch.log,
        "sqrt": torch.sqrt,
        "rsqrt": torch.rsqrt,
        "abs": torch.abs,
        "relu": torch.relu,
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
    }
    special = torch.tensor([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 100.0, -100.0, 1e-30])
    for name, f in table.items():
        low = 0.25 if name in ("log", "sqrt", "rsqrt") else -2.0
        a = random([3, 4], 11, low=low)
        each(name, "contiguous", f, [a])
        each(name, "transposed", f, [a], ["transposed:0,1"])
        each(name, "narrowed", f, [a], ["narrowed:1"])
        each(name, "expanded", f, [a[:1].expand(3, 4)], ["expanded:0"])
        each(name, "scalar", f, [torch.tensor(0.625)])
        each(name, "empty", f, [random([0, 3], 5)])
        each(name, "special", f, [special])
        for dtype in ("f16", "bf16"):
            case(name, "half", f, [a], dtype=dtype)
    special = torch.tensor([0.0, -0.0, -2.0, INF, -INF, NAN, 3.0])
    for exponent in (0, 1, 2, 3, -1, 0.5, -0.5, 1.7, 0.0):
        tag = str(float(exponent)).replace(".", "_").replace("-", "m")
        if exponent == 0 and isinstance(exponent, float):
            continue
        f = lambda x: torch.pow(x, exponent)
        low = -2.0 if float(exponent).is_integer() and exponent >= 0 else 0.25
        each("pow", f"{tag}", f, [random([2, 3], 12, low=low)], args={"exponent": exponent})
        each("pow", f"{tag}_special", f, [special], args={"exponent": exponent})


def reductions():
    x3 = random([2, 3, 4], 21)
    # Ties: integers between -1 and 1, so that the choice among equals shows.
    ties = integers([3, 5], 22, -1, 2).float()
    special = torch.tensor([[1.0, NAN, 2.0], [INF, -INF, 0.0], [-INF, -INF, -INF], [NAN, NAN, 1.0]])

    def over(name, f, variant, x, layout="contiguous", grad=True, **args):
        each(name, variant, lambda t: f(t, **args), [x], [layout], args=args, grad=grad)

    for name, f in (("sum", torch.sum), ("mean", torch.mean), ("var", torch.var)):
        over(name, f, "contiguous", x3)
        for dim in (0, 1, -1):
            over(name, f, f"dim{dim}", x3, dim=dim)
        over(name, f, "dims", x3, dim=[0, 2])
        over(name, f, "dims_keep", x3, dim=[-1, 0], keepdim=True)
        over(name, f, "keep", x3, dim=1, keepdim=True)
        over(name, f, "transposed", x3, "transposed:0,2", dim=1)
        over(name, f, "narrowed", x3, "narrowed:2", dim=2)
        over(name, f, "expanded", x3[:, :1].expand(2, 3, 4), "expanded:1", dim=1)
        over(name, f, "scalar", torch.tensor(1.5))
        over(name, f, "empty", random([0, 3], 1), dim=0)
        over(name, f, "empty_kept", random([0, 3], 1), dim=1)
        over(name, f, "special", special, dim=1)
    over("sum", torch.sum, "empty_all", random([0, 3], 1))
    over("mean", torch.mean, "empty_all", random([0, 3], 1))
    over("var", torch.var, "biased", x3, dim=1, correction=0)
    over("var", torch.var, "one_value", random([3, 1], 2), dim=1)
    over("var", torch.var, "one_value_biased", random([3, 1], 2), dim=1, correction=0)
    over("sum", torch.sum, "long_0", random([3000], 9))
    for name, f in (("max", torch.max), ("min", torch.min)):
        over(name, f, "contiguous", x3)
        over(name, f, "ties", ties)
        over(name, f, "special", special)
        for dim in (0, 1):
            over(name, f, f"ties_dim{dim}", ties, dim=dim)
        over(name, f, "keep", x3, dim=-2, keepdim=True)
        over(name, f, "transposed", x3, "transposed:0,2", dim=1)
        over(name, f, "narrowed", ties, "narrowed:1", dim=1)
        over(name, f, "expanded", x3[:, :1].expand(2, 3, 4), "expanded:1", dim=1)
        over(name, f, "special_dim1", special, dim=1)
        over(name, f, "scalar", torch.tensor(1.5))
        over(name, f, "scalar_dim", torch.tensor(1.5), dim=0)
        over(name, f, "empty_kept", random([0, 3], 1), dim=1)
    for name, f in (("argmax", torch.argmax), ("argmin", torch.argmin)):
        over(name, f, "contiguous", x3, grad=False)
        over(name, f, "ties", ties, grad=False)
        over(name, f, "ties_dim", ties, dim=1, grad=False)
        over(name, f, "keep", x3, dim=1, keepdim=True, grad=False)
        over(name, f, "transposed", x3, "transposed:0,2", dim=0, grad=False)
        over(name, f, "special", special, grad=False)
        over(name, f, "special_dim", special, dim=1, grad=False)
        over(name, f, "scalar", torch.tensor(1.5), grad=False)
    # Sums of integers and booleans are i64.
    for kind in ("i64", "i32", "u8", "bool"):
        x = integers([2, 3], 23, 0, 5).to(DTYPES[kind])
        case("sum", kind, torch.sum, [x], dtype=None)
        case("sum", f"{kind}_dim", lambda t: t.sum(1), [x], args={"dim": 1}, dtype=None)
    case("max", "i64_dim", lambda t: t.max(1), [integers([2, 3], 23, 0, 3)], args={"dim": 1}, dtype=None)


def matmuls():
    shapes = {
        "contiguous": ([3, 4], [4, 2]),
        "vector_vector": ([4], [4]),
        "matrix_vector": ([3, 4], [4]),
        "vector_matrix": ([3], [3, 2]),
        "batched": ([2, 3, 4], [2, 4, 2]),
        "broadcast": ([2, 1, 3, 4], [3, 4, 2]),
        "batch_matrix": ([2, 3, 4], [4, 2]),
        "matrix_batch": ([3, 4], [2, 4, 2]),
        "batch_vector": ([2, 3, 4], [4]),
        "vector_batch": ([4], [2, 4, 3]),
        "empty_inner": ([2, 0], [0, 3]),
        "empty_rows": ([0, 2], [2, 3]),
        "empty_batch": ([0, 2, 3], [3, 2]),
        "one_by_one": ([1, 1], [1, 1]),
        "odd": ([7, 9], [9, 5]),
    }
    for variant, (a, b) in shapes.items():
        each("matmul", variant, torch.matmul, [random(a, 31), random(b, 32)])
    a, b = random([3, 4], 31), random([4, 2], 32)
    each("matmul", "transposed", torch.matmul, [a, b], ["transposed:0,1", "contiguous"])
    each("matmul", "transposed_right", torch.matmul, [a, b], ["contiguous", "transposed:0,1"])
    each("matmul", "transposed_both", torch.matmul, [a, b], ["transposed:0,1", "transposed:0,1"])
    each("matmul", "strided", torch.matmul, [a, b], ["strided:1", "narrowed:1"])
    each("matmul", "expanded", torch.matmul, [a[:1].expand(3, 4), b], ["expanded:0", "contiguous"])
    a, b = random([2, 3, 4], 33), random([2, 4, 2], 34)
    each("matmul", "batched_transposed", torch.matmul, [a, b], ["transposed:1,2", "transposed:0,1"])
    each("matmul", "batched_expanded", torch.matmul, [a, b[:1].expand(2, 4, 2)], ["contiguous", "expanded:0"])
    case("matmul", "special", torch.matmul, [torch.tensor([[0.0, 1.0], [INF, 1.0]]), torch.tensor([[INF, 1.0], [NAN, 2.0]])])


def views():
    x = random([2, 3, 4], 41)
    layouts = {"contiguous": "contiguous", "transposed": "transposed:0,2", "narrowed": "narrowed:2"}
    for variant, layout in layouts.items():
        def view(name, f, tag="", **args):
            each(name, variant + tag, f, [x], [layout], args=args)

        view("transpose", lambda t: t.transpose(0, 2), dims=[0, 2])
        view("transpose", lambda t: t.transpose(-1, -2), "_last", dims=[-1, -2])
        view("permute", lambda t: t.permute(2, 0, 1), dims=[2, 0, 1])
        view("reshape", lambda t: t.reshape(4, 6), shape=[4, 6])
        view("reshape", lambda t: t.reshape(3, -1), "_infer", shape=[3, -1])
        view("narrow", lambda t: t.narrow(1, 1, 2), dim=1, start=1, length=2)
        view("narrow", lambda t: t.narrow(-1, 2, 0), "_nothing", dim=-1, start=2, length=0)
        view("flatten", lambda t: t.flatten(), start_dim=0, end_dim=-1)
        view("flatten", lambda t: t.flatten(1), "_from1", start_dim=1, end_dim=-1)
        view("squeeze", lambda t: t.narrow(1, 0, 1).squeeze(1), dim=1, narrow_first=[1, 0, 1])
        view("unsqueeze", lambda t: t.unsqueeze(-1), dim=-1)
    one = random([3, 1], 42)
    each("expand", "contiguous", lambda t: t.expand(3, 4), [one], args={"shape": [3, 4]})
    each("expand", "leading", lambda t: t.expand(2, -1, 4), [one], args={"shape": [2, -1, 4]})
    each("expand", "transposed", lambda t: t.expand(2, 3, 1), [one], ["transposed:0,1"], args={"shape": [2, 3, 1]})
    each("expand", "scalar", lambda t: t.expand(2, 3), [torch.tensor(1.5)], args={"shape": [2, 3]})
    each("expand", "empty", lambda t: t.expand(3, 0), [one], args={"shape": [3, 0]})
    each("reshape", "scalar", lambda t: t.reshape(1, 1), [torch.tensor(1.5)], args={"shape": [1, 1]})
    each("reshape", "to_scalar", lambda t: t.reshape(()), [random([1, 1], 43)], args={"shape": []})
    each("reshape", "empty", lambda t: t.reshape(3, 0), [random([0, 2], 43)], args={"shape": [3, 0]})
    each("flatten", "scalar", torch.flatten, [torch.tensor(1.5)], args={"start_dim": 0, "end_dim": -1})


def joins():
    a, b, c = random([2, 3], 51), random([1, 3], 52), random([2, 3], 53)
    cat0, cat1 = (lambda *t: torch.cat(t, 0)), (lambda *t: torch.cat(t, -1))
    each("cat", "contiguous", cat0, [a, b, c], args={"dim": 0})
    each("cat", "dim1", cat1, [a, c], args={"dim": -1})
    each("cat", "transposed", cat1, [a, c], ["transposed:0,1", "narrowed:1"], args={"dim": -1})
    each("cat", "expanded", cat0, [a[:1].expand(2, 3), b], ["expanded:0", "contiguous"], args={"dim": 0})
    each("cat", "empty", cat0, [a, random([0, 3], 1)], args={"dim": 0})
    each("cat", "legacy_empty", cat0, [a, random([0], 1)], args={"dim": 0})
    case("cat", "promote", cat0, [integers([2], 1, 0, 5), random([2], 1)], args={"dim": 0}, dtype=None)
    for dim in (0, 1, -1):
        each("stack", f"dim{dim}", lambda *t: torch.stack(t, dim), [a, c], args={"dim": dim})
    each("stack", "transposed", lambda *t: torch.stack(t, 1), [a, c], ["transposed:0,1", "strided:1"], args={"dim": 1})
    each("stack", "scalar", lambda *t: torch.stack(t), [torch.tensor(1.5), torch.tensor(2.5)], args={"dim": 0})
    each("stack", "empty", lambda *t: torch.stack(t), [random([0, 2], 1), random([0, 2], 2)], args={"dim": 0})


def selections():
    a, b = random([3, 4], 61), random([3, 4], 62)
    mask = integers([3, 4], 63, 0, 2).bool()
    row = torch.tensor([True, False, False, True])
    where = lambda c, x, y: torch.where(c, x, y)
    each("where", "contiguous", where, [mask, a, b])
    each("where", "transposed", where, [mask, a, b], ["transposed:0,1", "contiguous", "transposed:0,1"])
    each("where", "broadcast", where, [row, random([3, 1], 64), random([2, 1, 1], 65)])
    each("where", "scalar", where, [torch.tensor(True), torch.tensor(1.5), torch.tensor(2.5)])
    each("where", "empty", where, [torch.zeros(0, 4, dtype=torch.bool), random([0, 4], 1), random([1, 4], 2)])
    each("where", "special", where, [torch.tensor([True, False]), torch.tensor([1.0, NAN]), torch.tensor([INF, 2.0])])
    for dim, shape in ((0, [2, 4]), (1, [3, 2]), (-1, [2, 3])):
        index = integers(shape, 66, 0, 3)
        each("gather", f"dim{dim}_{shape[1]}", lambda t, i: t.gather(dim, i), [a, index], args={"dim": dim})
    index = integers([3, 6], 67, 0, 4)
    each("gather", "contiguous", lambda t, i: t.gather(1, i), [a, index], args={"dim": 1})
    each("gather", "transposed", lambda t, i: t.gather(1, i), [a, index], ["transposed:0,1"] * 2, args={"dim": 1})
    each("gather", "expanded", lambda t, i: t.gather(1, i), [a[:1].expand(3, 4), index], ["expanded:0", "contiguous"], args={"dim": 1})
    each("gather", "empty", lambda t, i: t.gather(1, i), [a, torch.zeros(3, 0, dtype=torch.int64)], args={"dim": 1})
    index = torch.tensor([2, 0, 2, 1, 2])
    for dim in (0, 1, -1):
        each("index_select", f"dim{dim}", lambda t, i: t.index_select(dim, i), [a, index], args={"dim": dim})
    each("index_select", "transposed", lambda t, i: t.index_select(0, i), [a, index], ["transposed:0,1", "contiguous"], args={"dim": 0})
    each("index_select", "narrowed", lambda t, i: t.index_select(1, i), [a, index], ["narrowed:1", "contiguous"], args={"dim": 1})
    each("index_select", "empty", lambda t, i: t.index_select(0, i), [a, torch.zeros(0, dtype=torch.int64)], args={"dim": 0})
    fill = lambda t, m: t.masked_fill(m, -1.5)
    each("masked_fill", "contiguous", fill, [a, mask], args={"value": -1.5})
    each("masked_fill", "transposed", fill, [a, mask], ["transposed:0,1", "contiguous"], args={"value": -1.5})
    each("masked_fill", "expanded", fill, [a[:1].expand(3, 4), mask], ["expanded:0", "contiguous"], args={"value": -1.5})
    each("masked_fill", "broadcast", fill, [a, row], args={"value": -1.5})
    each("masked_fill", "broadcast_both", fill, [random([3, 1], 1), row], args={"value": -1.5})
    each("masked_fill", "scalar", fill, [torch.tensor(0.5), torch.tensor(True)], args={"value": -1.5})
    each("masked_fill", "special", fill, [torch.tensor([NAN, INF, 1.0]), torch.tensor([True, False, True])], args={"value": -1.5})
    each("masked_select", "contiguous", torch.masked_select, [a, mask])
    each("masked_select", "broadcast", torch.masked_select, [a, row])


def softmaxes():
    x = random([2, 3, 4], 71, low=-4, high=4)
    special = torch.tensor([[1.0, -INF, 2.0], [-INF, -INF, -INF], [1.0, INF, 0.0], [NAN, 1.0, 0.0], [1e4, -1e4, 9999.0]])
    for name, f in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax)):
        for variant, dim, layout in (
            ("contiguous", -1, "contiguous"),
            ("dim0", 0, "contiguous"),
            ("dim1", 1, "contiguous"),
            ("transposed", 2, "transposed:0,2"),
            ("transposed_dim1", 1, "transposed:1,2"),
            ("narrowed", 2, "narrowed:2"),
        ):
            each(name, variant, lambda t: f(t, dim), [x], [layout], args={"dim": dim})
        each(name, "expanded", lambda t: f(t, 1), [x[:, :1].expand(2, 3, 4)], ["expanded:1"], args={"dim": 1})
        each(name, "special", lambda t: f(t, 1), [special], args={"dim": 1})
        each(name, "scalar", lambda t: f(t, 0), [torch.tensor(1.5)], args={"dim": 0})
        each(name, "empty", lambda t: f(t, 1), [random([0, 3], 1)], args={"dim": 1})
        each(name, "empty_dim", lambda t: f(t, 1), [random([3, 0], 1)], args={"dim": 1})


def convolutions():
    weight, bias = random([4, 3, 3, 2], 81), random([4], 82)
    x = random([2, 3, 5, 6], 83)
    plain = {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "groups": 1}

    def conv(variant, x, weight, bias=None, layouts=None, **changes):
        args = plain | changes
        inputs = [x, weight] + ([] if bias is None else [bias])
        each("conv2d", variant, lambda x, w, b=None: F.conv2d(x, w, b, **args), inputs, layouts, args=args)

    conv("contiguous", x, weight, bias)
    conv("no_bias", x, weight)
    conv("strides", x, weight, bias, stride=[2, 1], padding=[1, 2])
    conv("dilation", x, weight, bias, dilation=[2, 3])
    conv("groups", random([1, 4, 4, 5], 84), random([6, 2, 2, 3], 85), random([6], 86), groups=2, padding=[1, 0])
    conv("transposed", x, weight, bias, ["transposed:1,3", "contiguous", "contiguous"])
    conv("transposed_weight", x, weight, bias, ["contiguous", "transposed:2,3", "contiguous"])
    conv("narrowed", x, weight, bias, ["narrowed:3", "narrowed:0", "strided:0"])
    conv("expanded", x[:1].expand(2, 3, 5, 6), weight, bias, ["expanded:0", "contiguous", "contiguous"])

    ties = integers([1, 2, 5, 6], 87, -1, 2).float()
    pool = {"kernel_size": [2, 2], "stride": [2, 2], "padding": [0, 0], "dilation": [1, 1], "ceil_mode": False}

    def max_pool(variant, x, layout="contiguous", **changes):
        args = pool | changes
        f = lambda t: F.max_pool2d(t, return_indices=True, **args)
        each("max_pool2d", variant, f, [x], [layout], args=args)

    max_pool("contiguous", ties)
    max_pool("overlap", ties, kernel_size=[3, 3], stride=[1, 2], padding=[1, 1])
    max_pool("ceil", ties, kernel_size=[2, 3], ceil_mode=True)
    max_pool("dilation", ties, dilation=[2, 2], stride=[1, 1])
    max_pool("transposed", x, "transposed:1,3")
    max_pool("narrowed", x, "narrowed:2")
    max_pool("expanded", x[:1].expand(2, 3, 5, 6), "expanded:0")


def promotions():
    """The dtype of mixed operands, and integer division."""
    pairs = ("bool u8", "u8 i32", "i32 i64", "i64 f32", "i64 f16", "f16 bf16", "f16 f32", "bf16 f32", "f32 f64", "bool f32", "bool bool")
    for pair in pairs:
        a, b = pair.split()
        x = integers([2, 2], 91, 0, 4).to(DTYPES[a])
        y = integers([2, 2], 92, 1, 4).to(DTYPES[b])
        for name, f in (("add", torch.add), ("mul", torch.mul), ("div", torch.div)):
            case(name, f"{a}_{b}", f, [x, y], dtype=None, grad=False)
    for a, scalar in (("i64", 1.5), ("i64", 2), ("f16", 1.5), ("bool", 2), ("u8", -1)):
        x = integers([2, 2], 93, 0, 4).to(DTYPES[a])
        tag = f"{a}_by_{'number' if isinstance(scalar, int) else 'fraction'}"
        case("mul", tag, lambda t: t * scalar, [x], args={"scalar": scalar}, dtype=None, grad=False)
    # A tensor without dimensions does not widen one that has them, within one kind of number.
    case("mul", "f32_0d_f64", torch.mul, [random([2], 1), torch.tensor(1.5, dtype=torch.float64)], dtype=None, grad=False)
    case("mul", "i64_0d_f64", torch.mul, [integers([2], 1, 0, 4), torch.tensor(1.5, dtype=torch.float64)], dtype=None, grad=False)


def write():
    CASES.clear()
    TENSORS.clear()
    for group in (binary_ops, unary_ops, reductions, matmuls, views, joins, selections, softmaxes, convolutions, promotions):
        group()
    ops_elementwise.record()
    ops_reductions.record()
    ops_arrangements.record()
    assert all(tensor.dtype in NAMES for tensor in TENSORS.values())
    write_safetensors("ops.safetensors", TENSORS, CASES)
    return len(CASES)
