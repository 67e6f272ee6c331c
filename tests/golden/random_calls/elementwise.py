"""Functions of one and of two tensors, of a tensor and a number, and casts."""

from common import DTYPES

from .call import Call
from .draw import FLOATS, INTEGERS

ROUNDED = ("acos acosh asin asinh atan atanh cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 frac lgamma log log10 "
           "log1p log2 rad2deg reciprocal rsqrt sigmoid sin sinh sqrt square tan tanh").split()
ACTIVATIONS = "celu elu gelu hardsigmoid hardswish leaky_relu logsigmoid mish selu silu softplus softshrink softsign tanhshrink".split()
ROUNDED += [f"nn.functional.{name}" for name in ACTIVATIONS]
EXACT = "abs ceil floor neg round sign trunc nn.functional.relu nn.functional.relu6 nn.functional.hardshrink nn.functional.hardtanh".split()
# Their derivatives are differences of larger numbers.
CANCEL = ["nn.functional.gelu", "nn.functional.mish", "nn.functional.silu", "nn.functional.tanhshrink"]
OF_INTEGERS = "abs neg sign square nn.functional.relu".split()

OF_TWO = ("add sub mul div.no_rounding_mode maximum minimum pow remainder fmod floor_divide atan2 hypot copysign logaddexp logaddexp2 xlogy "
          "eq ne lt le gt ge").split()
OF_TWO_INTEGERS = "add sub mul maximum minimum eq ne lt le gt ge remainder fmod floor_divide".split()
# By zero, integers have no quotient; and where a quotient jumps, its gradient says nothing.
DIVIDES = ("remainder", "fmod", "floor_divide")
COMPARES = ("eq", "ne", "lt", "le", "gt", "ge")

OF_A_NUMBER = "add sub mul div.no_rounding_mode clamp_min pow remainder fmod floor_divide lt ge".split()
# Numbers that each dtype holds exactly.
NUMBERS = [2.0, 0.5, -1.5, 3.0, 0.75, 1.0, -1.0, 0.0]


def unary(draw):
    op, special = draw.pick(ROUNDED + EXACT), draw.chance(0.25)
    dtype = draw.pick(["i64", "i32"]) if op in OF_INTEGERS and draw.chance(0.2) else draw.float()
    # PyTorch's derivative of `digamma` has ten digits, and is finite at its poles.
    x = draw.tensor(draw.shape(), dtype, special, grad=not special and op != "digamma")
    return Call(op, [x], out="exact" if op in EXACT else "elementwise", gin="difference" if op in CANCEL else "elementwise")


def broadcast(draw, shape):
    """Two shapes that are broadcast to `shape`, often equal to it."""
    left, right = list(shape), list(shape)
    if draw.chance(0.4):
        for dim in range(len(shape)):
            which = draw.between(0, 3)
            if which < 2:
                (left, right)[which][dim] = 1
        if draw.chance(0.3):
            right = right[draw.between(0, len(right)):]
    return left, right


def binary(draw):
    op, special = draw.pick(OF_TWO), draw.chance(0.25)
    dtype = draw.pick(INTEGERS) if op in OF_TWO_INTEGERS and draw.chance(0.3) else draw.float()
    left, right = broadcast(draw, draw.shape())

    def divisors(base):
        sign = 1 if dtype == "u8" else draw.pick([1, -1])
        return draw.integers(base, 1, 9) * sign

    values = divisors if op in DIVIDES and dtype not in FLOATS else None
    # In half precision, a step of the gradient of `atan2` overflows near the origin, here more often than in PyTorch.
    grad = not special and op != "floor_divide" and not (op == "atan2" and dtype in ("f16", "bf16"))
    x = draw.tensor(left, dtype, special, grad=grad)
    y = draw.tensor(right, dtype, special, grad=grad and op not in DIVIDES, values=values)
    # Near 0, a sum of logarithms is a difference of larger numbers.
    near_zero = op in ("logaddexp", "logaddexp2")
    return Call(op, [x, y], out="exact" if op in COMPARES else "difference" if near_zero else "elementwise")


def with_number(draw):
    op, special = draw.pick(OF_A_NUMBER), draw.chance(0.25)
    number = draw.pick(NUMBERS)
    if op in DIVIDES and number == 0:
        number = 1.25
    x = draw.tensor(draw.shape(), draw.float(), special, grad=not special and op != "floor_divide")
    return Call(op, [x, number], out="elementwise")


def cast(draw):
    source, target = (draw.pick(FLOATS + INTEGERS + ["bool"]) for _ in range(2))
    # What an integer does not hold has no defined result.
    small = target == "u8" and source in FLOATS
    values = (lambda base: draw.values(base, "f64").abs() * 8) if small else None
    x = draw.tensor(draw.shape(), source, target in FLOATS and draw.chance(0.25), values=values)
    return Call("to", [x], {"dtype": DTYPES[target]}, out="exact")
