"""ops_functions.safetensors, ops_quotients.safetensors: more unary functions, binary functions, clamping.

`op_cases.py` describes the recordings.
"""

import torch

from common import integers, random
from op_cases import INF, NAN, case, each, write_files
from ops_elementwise import variants


def tag(number):
    return str(number).replace(".", "_").replace("-", "m")


def arcs():
    for name in ("tan", "asin", "acos", "atan", "erfinv", "atanh"):
        f = getattr(torch, name)
        a = random([3, 4], 11, low=-0.9, high=0.9)
        g = f if name in ("tan", "atan") else (lambda t, f=f: f(t))
        variants(name, "", g, low=-0.9 if name in ("tan", "atan") else 0.0)
        each(name, "inside", g, [a], both=True)
        each(name, "inside_strided", g, [a], ["strided:1"])
    each("tan", "range", torch.tan, [torch.linspace(-50, 50, 41)], both=True)
    each("atan", "range", torch.atan, [torch.linspace(-50, 50, 41)], both=True)
    ends = torch.tensor([0.7, -0.70001, 0.9, -0.99, 0.9999, 0.9999999, -0.9999999, 1e-10, -1e-38, 0.25])
    for name in ("asin", "acos", "atanh", "erfinv"):
        each(name, "ends", getattr(torch, name), [ends], both=True)
    tails = 1 - torch.logspace(-1, -15, 15, dtype=torch.float64)
    case("erfinv", "tails", torch.erfinv, [tails], dtype="f64")


def tails():
    variants("erfc", "", torch.erfc)
    each("erfc", "range", torch.erfc, [torch.linspace(-6, 12, 97)], both=True)
    each("erfc", "small", torch.erfc, [torch.tensor([1e-38, -1e-10, 1e-3, 0.84375, 1.25, 2.857, 9.19, -27.0, 27.0])], both=True)


def hyperbolic():
    for name in ("sinh", "cosh", "asinh"):
        f = getattr(torch, name)
        variants(name, "", f)
        each(name, "range", f, [torch.linspace(-20, 20, 41)], both=True)
        each(name, "small", f, [torch.tensor([1e-6, -1e-3, 0.01, -0.3])], both=True)
    variants("acosh", "", torch.acosh, low=1.25)
    each("acosh", "range", torch.acosh, [torch.tensor([1.0000001, 1.001, 1.5, 2.0, 10.0, 1e10])], both=True)


def logarithms():
    for name in ("log2", "log10"):
        f = getattr(torch, name)
        variants(name, "", f, low=0.25)
        each(name, "range", f, [torch.tensor([1e-30, 0.001, 0.999, 1.0, 1.001, 8.0, 1000.0, 1e30])], both=True)
    variants("exp2", "", torch.exp2)
    each("exp2", "range", torch.exp2, [torch.linspace(-20, 20, 33)], both=True)


def gammas():
    poles = torch.tensor([-0.5, -1.5, -2.25, -7.75, -20.5, 0.001, 0.5, 1.4616, 3.0, 9.99, 10.0, 10.5, 50.0, 1e4])
    for name in ("lgamma", "digamma"):
        f = getattr(torch, name)
        variants(name, "", f, low=0.25)
        each(name, "poles", f, [poles], both=True)
    for n in (1, 2, 3, 5):
        f = lambda t: torch.polygamma(n, t)
        variants("polygamma", f"{n}_", f, low=0.25, args={"n": n}, halves=(), special=torch.tensor([0.5, NAN, 2.5, 1.0]))
    each("polygamma", "1_poles", lambda t: torch.polygamma(1, t), [poles], args={"n": 1}, both=True)
    case("polygamma", "0", lambda t: torch.polygamma(0, t), [poles], args={"n": 0}, dtype="f64")


def rounding():
    variants("trunc", "", torch.trunc)
    variants("frac", "", torch.frac)
    variants("deg2rad", "", torch.deg2rad)
    variants("rad2deg", "", torch.rad2deg)
    numbers = torch.tensor([0.5, -0.5, 1.5, -1.5, 0.49999997, -2.0, 8388609.0, 1e30, -1e-30])
    for name, f in (("trunc", torch.trunc), ("frac", torch.frac)):
        each(name, "numbers", f, [numbers], both=True)
    for kind in (torch.int64, torch.int32, torch.uint8):
        x = integers([2, 3], 12, 0, 5).to(kind)
        case("trunc", f"integers_{kind}".replace("torch.", ""), torch.trunc, [x], dtype=None)


def signs():
    numbers = torch.tensor([0.0, -0.0, 1.5, -2.0, INF, -INF, NAN])
    for name in ("signbit", "isposinf", "isneginf"):
        f = getattr(torch, name)
        variants(name, "", f, special=numbers)
        for kind in ("int64", "uint8", "bool"):
            x = integers([2, 3], 12, -3 if kind == "int64" else 0, 5).to(getattr(torch, kind))
            case(name, kind, f, [x], dtype=None)


def pairs():
    table = {"atan2": torch.atan2, "hypot": torch.hypot, "copysign": torch.copysign, "fmod": torch.fmod, "remainder": torch.remainder, "floor_divide": torch.floor_divide}
    a_special = torch.tensor([0.0, -0.0, 0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 5.5, -5.5, 7.0, 3.0])
    b_special = torch.tensor([1.0, 1.0, -1.0, -0.0, -0.0, INF, -INF, 2.0, 1.0, INF, INF, NAN, -INF])
    for name, f in table.items():
        grad = name != "floor_divide"
        a, b = random([3, 4], 1), random([3, 4], 2, low=0.5)
        each(name, "contiguous", f, [a, b], grad=grad, both=True)
        each(name, "negative", f, [a, b.neg()], grad=grad, both=True)
        each(name, "transposed", f, [a, b], ["transposed:0,1", "contiguous"], grad=grad)
        each(name, "strided", f, [a, b], ["strided:1", "narrowed:0"], grad=grad)
        each(name, "expanded", f, [a[:1].expand(3, 4), b[:, :1].expand(3, 4)], ["expanded:0", "expanded:1"], grad=grad)
        each(name, "broadcast", f, [random([2, 1, 4], 3), random([3, 1], 4, low=0.5)], grad=grad)
        each(name, "scalar", f, [torch.tensor(1.5), torch.tensor(-0.25)], grad=grad)
        each(name, "empty", f, [random([0, 3], 5), random([1, 3], 6)], grad=grad)
        each(name, "special", f, [a_special, b_special], grad=grad, both=True)
        for dtype in ("f16", "bf16"):
            case(name, "half", f, [a, b], dtype=dtype, grad=grad)
    for name in ("fmod", "remainder", "floor_divide"):
        f = table[name]
        grad = name != "floor_divide"
        for number in (1.5, -0.75, 2, INF):
            args = {"number": "inf" if number == INF else number}
            each(name, f"number_{tag(number)}", lambda t: f(t, number), [random([3, 4], 1)], args=args, grad=grad, both=True)
        each(name, "by_zero", f, [torch.tensor([1.0, -1.0, 0.0]), torch.zeros(3)], grad=False, both=True)
        each(name, "large", f, [torch.tensor([1e8, -1e8, 123456.7]), torch.tensor([3.0, 7.0, 0.1])], grad=False, both=True)
        for kind in ("int64", "int32", "uint8"):
            low = 0 if kind == "uint8" else -9
            x, y = integers([3, 4], 13, low, 10).to(getattr(torch, kind)), integers([3, 4], 14, 1, 5).to(getattr(torch, kind))
            case(name, kind, f, [x, y], dtype=None)
            case(name, f"{kind}_by_number", lambda t: f(t, 3), [x], args={"number": 3}, dtype=None)
            if kind != "uint8":
                case(name, f"{kind}_negative", f, [x, -y], ["transposed:0,1", "contiguous"], dtype=None)
                case(name, f"{kind}_by_negative", lambda t: f(t, -3), [x], args={"number": -3}, dtype=None)
        case(name, "int64_large", f, [torch.tensor([2**62 + 1, -(2**63), 7]), torch.tensor([3, 2, -(2**40)])], dtype=None)
        case(name, "int64_empty", f, [torch.zeros(0, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)], dtype=None)
    for number in (-0.0, 2.0):
        args = {"number": number}
        each("copysign", f"number_{tag(number)}", lambda t: torch.copysign(t, number), [a_special], args=args, both=True)


def limits():
    x, low, high = random([3, 4], 15), random([3, 4], 16, high=0.5), random([4], 17, low=-0.5)
    both, lower, upper = torch.clamp, torch.clamp, lambda t, h: torch.clamp(t, max=h)
    for tag, f, bounds in (("both", both, [low, high]), ("min", lower, [low]), ("max", upper, [high])):
        names = {"both": ["min", "max"], "min": ["min"], "max": ["max"]}[tag]
        args = {"bounds": names}
        each("clamp", f"tensors_{tag}", f, [x, *bounds], args=args, both=True)
        each("clamp", f"tensors_{tag}_laid", f, [x, *bounds], ["transposed:0,1", *["strided:0"] * len(bounds)], args=args)
        each("clamp", f"tensors_{tag}_row", f, [x[0], *bounds], args=args)
        each("clamp", f"tensors_{tag}_empty", f, [x[:0], *[b[..., :1, :] if b.dim() == 2 else b for b in bounds]], args=args)
        each("clamp", f"tensors_{tag}_scalar", f, [x[0, 0], *[b.flatten()[0] for b in bounds]], args=args)
        edge = torch.tensor([-1.0, 0.0, 1.0, 2.0, 3.0, NAN, 1.0, INF, -INF])
        ends = {"min": torch.tensor([0.0, 0.0, 1.0, 3.0, NAN, 0.0, -INF, 0.0, 0.0]), "max": torch.tensor([2.0, 0.0, 1.0, 1.0, 1.0, 1.0, NAN, 1.0, 1.0])}
        each("clamp", f"tensors_{tag}_special", f, [edge, *[ends[name] for name in names]], args=args, both=True)
        whole = [integers([2, 3], 12, -5, 5), *[integers([2, 3], 13 + i, -3, 3) for i in range(len(bounds))]]
        case("clamp", f"tensors_{tag}_integers", f, whole, args=args, dtype=None)
        for dtype in ("f16", "bf16"):
            case("clamp", f"tensors_{tag}_half", f, [x, *bounds], args=args, dtype=dtype)


FILES = {
    "ops_functions.safetensors": (arcs, tails, hyperbolic, logarithms, gammas, rounding, signs),
    "ops_quotients.safetensors": (pairs, limits),
}


def write():
    return write_files(FILES)
