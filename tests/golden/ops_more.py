"""ops_more.safetensors: powers of tensors, scalars on either side, `isclose`, splits into given sizes.

`op_cases.py` describes the recordings.
"""

import torch

from common import DATA, DTYPES, integers, random, write_safetensors
from op_cases import CASES, INF, NAN, TENSORS, case, each

LAYOUTS = {"contiguous": "contiguous", "transposed": "transposed:0,1", "narrowed": "narrowed:1", "strided": "strided:0", "expanded": "expanded:0"}


def stretched(x, layout):
    """What an expanded layout can hold."""
    return x[:1].expand(x.shape) if layout.startswith("expanded") else x


def powers():
    base, exponent = random([3, 4], 61, low=0.25), random([3, 4], 62)
    for variant, layout in LAYOUTS.items():
        inputs = [stretched(base, layout), stretched(exponent, layout)]
        each("pow_of", variant, torch.pow, inputs, [layout, "contiguous"], both=True)
        each("pow_of", f"{variant}_exponent", torch.pow, inputs, ["contiguous", layout])
    each("pow_of", "column", torch.pow, [base, exponent[:, :1]], both=True)
    each("pow_of", "scalar_base", torch.pow, [base[0, 0], exponent], both=True)
    each("pow_of", "scalar_exponent", torch.pow, [base, exponent[0, 0]])
    each("pow_of", "empty", torch.pow, [base[:0], exponent[:0]])
    special = [0.0, 0.0, 0.0, 0.0, 2.0, 1.0, INF, -INF, NAN, -2.0, -2.0, 2.0]
    exponents = [0.0, 1.0, 2.0, -1.0, 0.0, NAN, 2.0, 3.0, 0.0, 3.0, 0.5, INF]
    each("pow_of", "special", torch.pow, [torch.tensor(special), torch.tensor(exponents)], both=True)
    for half in ("f16", "bf16"):
        case("pow_of", "half", torch.pow, [base, exponent], dtype=half, grad=False)
    whole = torch.tensor([2, 1, -1, -1, 0, 3, -3])
    for kind in ("i64", "i32"):
        signed = [whole.to(DTYPES[kind]), torch.tensor([-1, -5, -3, -2, 0, 4, 3]).to(DTYPES[kind])]
        case("pow_of", kind, torch.pow, signed, dtype=None)
    case("pow_of", "u8", torch.pow, [integers([5], 1, 0, 9).to(torch.uint8), integers([5], 2, 0, 4).to(torch.uint8)], dtype=None)
    for power in (0, 1, 2, 3, 5):
        args = {"exponent": power}
        case("pow_whole", f"i64_{power}", lambda t: t.pow(power), [whole], args=args, dtype=None)
    x = random([3, 4], 63)
    for power in (-2, -1, 0, 1, 2, 3, 4):
        args = {"exponent": power}
        for variant, layout in LAYOUTS.items():
            each("pow_whole", f"{power}_{variant}", lambda t: t.pow(power), [stretched(x, layout)], [layout], args=args)
        zero = torch.tensor([0.0, -0.0, INF, -INF, NAN])
        each("pow_whole", f"{power}_special", lambda t: t.pow(power), [zero], args=args)


def numbers_on_the_left():
    table = {
        "left_add": lambda n, t: n + t,
        "left_sub": lambda n, t: n - t,
        "left_mul": lambda n, t: n * t,
        "left_div": lambda n, t: n / t,
    }
    x = random([3, 4], 64, low=0.25)
    for name, f in table.items():
        for number in (1.0, -2.5, 3):
            g, args = lambda t: f(number, t), {"number": number}
            for variant, layout in LAYOUTS.items():
                both = variant == "contiguous"
                each(name, f"{number}_{variant}", g, [stretched(x, layout)], [layout], args=args, both=both)
            each(name, f"{number}_special", g, [torch.tensor([0.0, -0.0, INF, NAN])], args=args)
            each(name, f"{number}_empty", g, [x[:0]], args=args)
        for half in ("f16", "bf16"):
            case(name, "half", lambda t: f(1.0, t), [x], args={"number": 1.0}, dtype=half)
        if name != "left_div":
            for kind in ("i64", "i32", "u8"):
                args = {"number": 3}
                case(name, kind, lambda t: f(3, t), [integers([5], 3, 0, 9).to(DTYPES[kind])], args=args, dtype=None)


def choices():
    mask, x = integers([3, 4], 65, 0, 2).bool(), random([3, 4], 66)
    for variant, layout in LAYOUTS.items():
        inputs, layouts = [stretched(mask, layout), stretched(x, layout)], [layout, layout]
        for number in (0.0, -1.5, 2):
            args = {"number": number}
            each("where_else", f"{number}_{variant}", lambda c, t: torch.where(c, t, number), inputs, layouts, args={**args, "first": True})
            each("where_then", f"{number}_{variant}", lambda c, t: torch.where(c, number, t), inputs, layouts, args={**args, "first": False})
    for a, b in ((1.0, 0.0), (1, 0.5), (3, -4), (True, False)):
        args = {"a": a, "b": b}
        case("where_numbers", f"{a}_{b}", lambda c: torch.where(c, a, b), [mask], args=args, dtype=None)
    # The number is f16's greatest.
    case("where_else", "half", lambda c, t: torch.where(c, t, 65504.0), [mask, x], args={"number": 65504.0, "first": True}, dtype="f16")
    case("where_else", "i64", lambda c, t: torch.where(c, t, 7), [mask, integers([3, 4], 1, 0, 9)], args={"number": 7, "first": True}, dtype=None)


def by_index():
    """Sources larger than the index, which PyTorch reads in part; its own gradient refuses them."""
    x, source = random([3, 5], 67), random([4, 6], 68)

    def part(f):
        def of_part(t, i, s):
            out = f(t, i, s[: i.shape[0], : i.shape[1]])
            assert torch.equal(out, f(t, i, s))
            return out

        return of_part

    index = torch.tensor([[2, 0, 1], [1, 1, 0]])
    for variant, layout in LAYOUTS.items():
        layouts = [layout, "contiguous", layout]
        inputs = [stretched(x, layout), index, stretched(source, layout)]
        for dim in (0, 1):
            unique = torch.tensor([[2, 0, 1], [1, 2, 0]])
            args = {"dim": dim}
            each("scatter_add", f"{variant}_{dim}", part(lambda t, i, s: t.scatter_add(dim, i, s)), inputs, layouts, args=args)
            each("scatter", f"{variant}_{dim}", part(lambda t, i, s: t.scatter(dim, i, s)), [inputs[0], unique, inputs[2]], layouts, args=args)
    empty = torch.empty([0, 3], dtype=torch.int64)
    each("scatter_add", "empty", part(lambda t, i, s: t.scatter_add(0, i, s)), [x, empty, source], args={"dim": 0})


def shapes():
    x = random([3, 1, 4], 69)
    layouts = {"contiguous": "contiguous", "transposed": "transposed:0,2", "narrowed": "narrowed:2", "strided": "strided:0"}
    for variant, layout in layouts.items():
        for tag, sizes in (("keep", [-1, 2, -1]), ("lead", [2, -1, 5, -1]), ("zero", [3, 0, -1])):
            each("expand_to", f"{tag}_{variant}", lambda t: t.expand(sizes), [x], [layout], args={"sizes": sizes})
        for sizes, dim in (([1, 2], 0), ([0, 3], 0), ([4], -1), ([1, 0, 2, 1], 2)):
            for part in range(len(sizes)):
                args = {"sizes": sizes, "dim": dim, "part": part}
                tag = "_".join(map(str, sizes))
                each("split_with_sizes", f"{variant}_{tag}_{part}", lambda t: t.split_with_sizes(sizes, dim)[part], [x], [layout], args=args)


def nearness():
    x = random([3, 4], 70)
    near = x * torch.tensor([1.0, 1.000001, 1.001, -1.0])
    for variant, layout in LAYOUTS.items():
        inputs, layouts = [stretched(x, layout), stretched(near, layout)], [layout, layout]
        for tag, rtol, atol in (("default", 1e-5, 1e-8), ("wide", 0.01, 0.0), ("absolute", 0.0, 0.002), ("exact", 0.0, 0.0)):
            for equal_nan in (False, True):
                args = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
                f = lambda a, b: torch.isclose(a, b, **args)
                dtypes = ("f32", "f64") if variant == "contiguous" else ("f32",)
                for dtype in dtypes:
                    case("isclose", f"{tag}_{equal_nan}_{variant}", f, inputs, layouts, args=args, dtype=dtype, grad=False)
                special = [torch.tensor([NAN, NAN, INF, INF, 1.0, -INF]), torch.tensor([NAN, 1.0, INF, -INF, INF, -INF])]
                if variant == "contiguous":
                    case("isclose", f"{tag}_{equal_nan}_special", f, special, args=args, grad=False)
                    whole = [torch.tensor([100, 100, -3]), torch.tensor([100, 101, 3])]
                    case("isclose", f"{tag}_{equal_nan}_i64", f, whole, args=args, dtype=None)


def draws():
    for name, f in (("rand_like", torch.rand_like), ("randn_like", torch.randn_like)):
        def drawn(t):
            torch.manual_seed(5)
            return f(t)

        shapes = {"few": [3], "many": [5, 7], "none": [0, 2], "scalar": []}
        for variant, shape in shapes.items():
            for dtype in ("f32", "f64", "f16", "bf16"):
                case(name, variant, drawn, [random(shape, 71)], dtype=dtype, grad=False)
        if name == "rand_like":
            for variant in ("transposed", "strided", "expanded"):
                layout = LAYOUTS[variant]
                case(name, variant, drawn, [stretched(random([5, 7], 71), layout)], [layout], grad=False)


def write():
    CASES.clear()
    TENSORS.clear()
    for group in (powers, numbers_on_the_left, choices, by_index, shapes, nearness, draws):
        group()
    write_safetensors(DATA / "ops_more.safetensors", TENSORS, CASES)
    return len(CASES)
