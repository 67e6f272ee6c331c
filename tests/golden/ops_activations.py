"""ops_activations.safetensors (activations and clamping), ops_draws.safetensors (random operations) and ops_pairs.safetensors (functions of two tensors,
comparisons, casts).

`op_cases.py` describes the recordings.
"""

import torch
from torch.nn import functional as F

from common import DTYPES, integers, random
from op_cases import INF, NAN, case, each, write_files
from ops_elementwise import SPECIAL, variants
from ops_more import LAYOUTS, stretched

# Where straight pieces meet.
BENDS = torch.tensor([-20.0, -6.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0, 20.0])
# Whether the gradient of NaN passes through these depends on the width of the processor's vectors in PyTorch.
PIECES = ("hardshrink", "hardtanh", "relu6", "softshrink")
NUMBERS = SPECIAL[~SPECIAL.isnan()]


def activations():
    table = {
        "celu": [("default", F.celu, {"alpha": 1.0}), ("small", F.celu, {"alpha": 0.3}), ("negative", F.celu, {"alpha": -1.5})],
        "hardshrink": [("default", F.hardshrink, {"lambd": 0.5}), ("zero", F.hardshrink, {"lambd": 0.0})],
        "hardsigmoid": [("", F.hardsigmoid, {})],
        "hardswish": [("", F.hardswish, {})],
        "hardtanh": [("default", F.hardtanh, {"min_val": -1.0, "max_val": 1.0}), ("high", F.hardtanh, {"min_val": 0.5, "max_val": 3.0})],
        "log_sigmoid": [("", F.logsigmoid, {})],
        "mish": [("", F.mish, {})],
        "relu6": [("", F.relu6, {})],
        "selu": [("", F.selu, {})],
        "softshrink": [("default", F.softshrink, {"lambd": 0.5}), ("zero", F.softshrink, {"lambd": 0.0})],
        "softsign": [("", F.softsign, {})],
        "tanhshrink": [("", F.tanhshrink, {})],
        "threshold": [("low", F.threshold, {"threshold": -0.5, "value": 2.0}), ("high", F.threshold, {"threshold": 1.0, "value": 0.0})],
    }
    for name, rows in table.items():
        for tag, f, args in rows:
            tag = tag and f"{tag}_"
            special = NUMBERS if name in PIECES else SPECIAL
            variants(name, tag, lambda t: f(t, **args), args=args, special=special)
            if name in PIECES:
                each(name, f"{tag}special_value", lambda t: f(t, **args), [SPECIAL], args=args, both=True, grad=False)
            each(name, f"{tag}bends", lambda t: f(t, **args), [BENDS], args=args, both=True)
    args = {"threshold": 1, "value": -7}
    case("threshold", "integers", lambda t: F.threshold(t, **args), [integers([2, 3], 12, -5, 5)], args=args, dtype=None)


def randomised():
    # With equal bounds nothing is random; of others PyTorch draws the slopes.
    for tag, lower, upper in (("fixed", 0.25, 0.25), ("drawn", 0.125, 0.5), ("signs", -1.0, 2.0)):
        def f(t):
            torch.manual_seed(5)
            return F.rrelu(t, lower, upper, training=True)

        variants("rrelu", f"{tag}_", f, args={"lower": lower, "upper": upper}, halves=("bf16",))

    x = random([3, 4, 5], 81)
    draws = {
        "dropout": lambda t, p: F.dropout(t, p),
        "feature_dropout": lambda t, p: torch.feature_dropout(t, p, True),
        "alpha_dropout": lambda t, p: F.alpha_dropout(t, p, True),
        "feature_alpha_dropout": lambda t, p: F.feature_alpha_dropout(t, p, True),
    }
    layouts = {"contiguous": "contiguous", "transposed": "transposed:0,2", "narrowed": "narrowed:1", "strided": "strided:2", "expanded": "expanded:0"}
    for name, g in draws.items():
        for p in (0.0, 0.3, 1.0):
            def f(t):
                torch.manual_seed(5)
                return g(t, p)

            args = {"p": p}
            for variant, layout in layouts.items():
                each(name, f"{p}_{variant}", f, [stretched(x, layout)], [layout], args=args, both=variant == "contiguous")
            for half in ("f16", "bf16"):
                case(name, f"{p}_half", f, [x], args=args, dtype=half)
            special = torch.tensor([[NAN, 1.0], [INF, -INF], [-0.0, 2.0]])
            each(name, f"{p}_special", f, [special], args=args)
            each(name, f"{p}_empty", f, [x[:0]], args=args)
            if not name.startswith("feature"):
                each(name, f"{p}_scalar", f, [torch.tensor(1.5)], args=args)


def simple():
    for name, f in (("reciprocal", torch.reciprocal), ("sign", torch.sign)):
        variants(name, "", f, low=0.25 if name == "reciprocal" else -2.0)
    case("sign", "integers", torch.sign, [integers([2, 3], 12, -5, 5)], dtype=None)
    case("sign", "u8", torch.sign, [integers([2, 3], 12, 0, 5).to(torch.uint8)], dtype=None)
    for name, f in (("clamp_min", torch.clamp_min), ("clamp_max", torch.clamp_max)):
        for tag, bound in (("below", -0.5), ("above", 0.75)):
            variants(name, f"{tag}_", lambda t: f(t, bound), args={"bound": bound})
        case(name, "integers", lambda t: f(t, -2), [integers([2, 3], 12, -5, 5)], args={"bound": -2}, dtype=None)


def gates():
    x = random([4, 6, 2], 82)
    layouts = {"contiguous": "contiguous", "transposed": "transposed:0,2", "narrowed": "narrowed:1", "strided": "strided:2"}
    for dim in (0, 1, -1):
        args = {"dim": dim}
        f = lambda t: F.glu(t, dim)
        for variant, layout in layouts.items():
            each("glu", f"{dim}_{variant}", f, [x], [layout], args=args, both=variant == "contiguous")
        # PyTorch's gradient of what is stretched along the halves fails.
        each("glu", f"{dim}_expanded", f, [x[:, :, :1].expand(4, 6, 2)] if dim == 0 else [x[:1].expand(4, 6, 2)],
             ["expanded:2" if dim == 0 else "expanded:0"], args=args)
        for half in ("f16", "bf16"):
            case("glu", f"{dim}_half", f, [x], args=args, dtype=half)
        each("glu", f"{dim}_empty", f, [random([2, 0, 4], 1)], args=args)
    special = torch.tensor([[NAN, 1.0, 1.0, NAN], [INF, -INF, 1.0, 2.0], [2.0, 0.5, INF, -INF], [100.0, -100.0, -100.0, 100.0]])
    each("glu", "special", lambda t: F.glu(t, 1), [special], args={"dim": 1}, both=True)

    x, weight = random([3, 4, 2], 83), random([4], 84)
    for variant, layout in layouts.items():
        each("prelu", variant, F.prelu, [x, weight], [layout, "contiguous"], both=variant == "contiguous")
    each("prelu", "expanded", F.prelu, [x[:1].expand(x.shape), weight[:1].expand(4)], ["expanded:0", "expanded:0"])
    each("prelu", "strided_weight", F.prelu, [x, weight], ["contiguous", "strided:0"])
    each("prelu", "one_weight", F.prelu, [x, weight[:1]], both=True)
    each("prelu", "matrix", F.prelu, [x[:, :, 0], weight])
    each("prelu", "vector", F.prelu, [x[0, 0], weight[:1]])
    each("prelu", "scalar", F.prelu, [torch.tensor(-1.5), torch.tensor(0.25)])
    each("prelu", "empty", F.prelu, [x[:0], weight])
    each("prelu", "special", F.prelu, [SPECIAL, torch.tensor([-0.5])], both=True)
    for half in ("f16", "bf16"):
        case("prelu", "half", F.prelu, [x, weight], dtype=half)


def pairs():
    """Functions of two tensors, with broadcasting."""
    a, b = random([3, 4], 85), random([3, 4], 86)
    b[1] = a[1]
    low = torch.tensor([NAN, 1.0, INF, -INF, 0.0, -0.0, INF, NAN])
    high = torch.tensor([1.0, NAN, 2.0, -INF, -0.0, 0.0, -INF, NAN])

    def everywhere(name, f, args=None, tag=""):
        for variant, layout in LAYOUTS.items():
            both = variant == "contiguous"
            each(name, f"{tag}{variant}", f, [stretched(a, layout), stretched(b, layout)], [layout, "contiguous"], args=args, both=both)
            each(name, f"{tag}{variant}_second", f, [a, stretched(b, layout)], ["contiguous", layout], args=args)
        each(name, f"{tag}broadcast", f, [a[:, :1], b[:1]], args=args)
        each(name, f"{tag}scalar", f, [torch.tensor(1.5), torch.tensor(-0.25)], args=args)
        each(name, f"{tag}scalar_second", f, [a, torch.tensor(0.25)], args=args)
        each(name, f"{tag}empty", f, [a[:0], b[:1]], args=args)
        each(name, f"{tag}special", f, [low, high], args=args, both=True)
        for half in ("f16", "bf16"):
            case(name, f"{tag}half", f, [a, b], args=args, dtype=half)

    def whole(name, f, args=None, kinds=("i64", "i32", "u8")):
        for kind in kinds:
            inputs = [integers([3, 4], 87, 0, 4).to(DTYPES[kind]), integers([3, 4], 88, 0, 4).to(DTYPES[kind])]
            case(name, kind, f, inputs, args=args, dtype=None)

    for name, f in (("maximum", torch.maximum), ("minimum", torch.minimum)):
        everywhere(name, f)
        whole(name, f)
    for tag, alpha in (("positive", 0.75), ("negative", -2.0), ("zero", 0.0)):
        everywhere("add_scaled", lambda a, b: torch.add(a, b, alpha=alpha), {"alpha": alpha}, f"{tag}_")
    whole("add_scaled", lambda a, b: torch.add(a, b, alpha=-3), {"alpha": -3})
    # Only whole vectors of 32: of the elements after them PyTorch rounds the product to half precision, too.
    vectors = [random([64], 89), random([64], 90)]
    for tag, alpha in (("tenth", -0.1), ("third", 0.3)):
        for half in ("f16", "bf16"):
            case("add_scaled", f"vectors_{tag}", lambda a, b: torch.add(a, b, alpha=alpha), vectors, args={"alpha": alpha, "bits": True}, dtype=half)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        f = getattr(torch, name)
        everywhere(name, f)
        whole(name, f, kinds=("i64", "i32", "u8", "bool"))
        each(name, "number", lambda t: f(t, 0.25), [torch.tensor([0.25, 1.0, -1.0, NAN, INF])], args={"number": 0.25})
        case(name, "whole_number", lambda t: f(t, 2), [integers([3, 4], 87, 0, 4)], args={"number": 2}, dtype=None)


def wholes():
    """Whether all is equal, or nearly so."""
    x = random([3, 4], 89)
    near = x * 1.000001
    far = x.clone()
    far[2, 3] += 0.5
    nothing = x[:0]
    special = [torch.tensor([NAN, 1.0]), torch.tensor([NAN, 1.0])]
    equal = lambda a, b: torch.tensor(torch.equal(a, b))
    for variant, layout in LAYOUTS.items():
        for tag, other in (("same", x), ("near", near), ("far", far)):
            inputs = [stretched(x, layout), stretched(other, layout)]
            for dtype in ("f32", "f64") if variant == "contiguous" else ("f32",):
                case("equal", f"{tag}_{variant}", equal, inputs, [layout, "contiguous"], dtype=dtype)
    for name, inputs in (("empty", [nothing, nothing]), ("special", special), ("scalar", [x[0, 0], x[0, 0]]), ("shapes", [x, x[:2]])):
        case("equal", name, equal, inputs)
    for kind in ("f16", "bf16", "i64", "i32", "u8", "bool"):
        inputs = [torch.tensor([1, 0, 2]).to(DTYPES[kind]), torch.tensor([1, 0, 1]).to(DTYPES[kind])]
        case("equal", kind, equal, inputs, dtype=None)
        case("equal", f"{kind}_same", equal, [inputs[0], inputs[0]], dtype=None)
    for equal_nan in (False, True):
        for tag, rtol, atol in (("default", 1e-5, 1e-8), ("exact", 0.0, 0.0), ("absolute", 0.0, 1.0)):
            args = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
            f = lambda a, b: torch.tensor(torch.allclose(a, b, **args))
            tag = f"{tag}_{equal_nan}"
            for variant, layout in LAYOUTS.items():
                for dtype in ("f32", "f64") if variant == "contiguous" else ("f32",):
                    case("allclose", f"{tag}_{variant}", f, [stretched(x, layout), stretched(near, layout)], [layout, "contiguous"], args=args, dtype=dtype)
            case("allclose", f"{tag}_far", f, [x, far], args=args)
            case("allclose", f"{tag}_special", f, special, args=args)
            case("allclose", f"{tag}_empty", f, [nothing, nothing], args=args)
            case("allclose", f"{tag}_scalar", f, [x[0, 0], near[0, 0]], args=args)
            case("allclose", f"{tag}_row", f, [x, x[:1]], args=args)


def casts():
    x = random([3, 4], 90, low=-100.0, high=100.0)
    # Numbers that halves cannot hold, and those between two of them.
    numbers = torch.tensor([0.0, -0.0, 1e-30, 1e-7, 0.1, 65504.0, 65520.0, 1e30, INF, -INF, NAN, 1.00048828125, 2049.0], dtype=torch.float64)
    floating = ("f64", "f32", "f16", "bf16")
    for to in DTYPES:
        args = {"dtype": to}
        f = lambda t: t.to(DTYPES[to])
        for kind in DTYPES:
            signed = "u8" not in (kind, to) and "bool" not in (kind, to)
            values = (x if signed else x.abs()).to(DTYPES[kind])
            case("to_dtype", f"{kind}_{to}", f, [values], args=args, dtype=None)
            # Of what an integer cannot hold, processors make different numbers.
            if kind in floating and to in floating + ("bool",):
                case("to_dtype", f"{kind}_{to}_special", f, [numbers.to(DTYPES[kind])], args=args, dtype=None)
        for variant, layout in list(LAYOUTS.items())[1:]:
            case("to_dtype", f"{to}_{variant}", f, [stretched(x.abs(), layout)], [layout], args=args)
        case("to_dtype", f"{to}_scalar", f, [torch.tensor(2.75)], args=args)
        case("to_dtype", f"{to}_empty", f, [x[:0]], args=args)


def probabilities():
    f = lambda x, y: F.binary_cross_entropy(x, y, reduction="none")
    x, y = random([3, 4], 91, low=0.01, high=0.99), random([3, 4], 92, low=0.0, high=1.0)
    name = "binary_cross_entropy"
    for variant, layout in LAYOUTS.items():
        each(name, variant, f, [stretched(x, layout), stretched(y, layout)], [layout, "contiguous"], both=variant == "contiguous")
        each(name, f"{variant}_target", f, [x, stretched(y, layout)], ["contiguous", layout])
    each(name, "scalar", f, [torch.tensor(0.25), torch.tensor(0.5)])
    each(name, "empty", f, [x[:0], y[:0]])
    # What is outside of 0 to 1 is refused, and NaN is.
    each(name, "ends", f, [torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.tensor([0.0, 1.0, 1.0, 0.0])], both=True)
    for half in ("f16", "bf16"):
        case(name, "half", f, [x, y], dtype=half)


FILES = {
    "ops_activations.safetensors": (activations, simple, gates),
    "ops_draws.safetensors": (randomised,),
    "ops_pairs.safetensors": (pairs, wholes, casts, probabilities),
}


def write():
    return write_files(FILES)
