"""Unary functions: roots and exponentials, trigonometry, rounding, activations."""

import torch
from torch.nn import functional as F

from common import integers, random
from op_cases import INF, NAN, case, each

SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 100.0, -100.0, 1e-30, 2.5])


def variants(name, tag, f, low=-2.0, args=None, halves=("f16", "bf16"), special=SPECIAL):
    """One function at every layout; `tag` tells its arguments apart."""
    a = random([3, 4], 11, low=low)
    each(name, f"{tag}contiguous", f, [a], args=args, both=True)
    each(name, f"{tag}transposed", f, [a], ["transposed:0,1"], args=args)
    each(name, f"{tag}narrowed", f, [a], ["narrowed:1"], args=args)
    each(name, f"{tag}strided", f, [a], ["strided:0"], args=args)
    each(name, f"{tag}expanded", f, [a[:1].expand(3, 4)], ["expanded:0"], args=args)
    each(name, f"{tag}scalar", f, [torch.tensor(0.625)], args=args)
    each(name, f"{tag}empty", f, [random([0, 3], 5)], args=args)
    each(name, f"{tag}special", f, [special], args=args, both=True)
    for dtype in halves:
        case(name, f"{tag}half", f, [a], args=args, dtype=dtype)


def functions():
    for name, f in (("log1p", torch.log1p), ("expm1", torch.expm1), ("erf", torch.erf), ("sin", torch.sin), ("cos", torch.cos)):
        variants(name, "", f, low=-0.75 if name == "log1p" else -2.0)
    # All of the curve of erf, and where it is flat.
    each("erf", "range", torch.erf, [torch.linspace(-6, 6, 97)], both=True)
    each("erf", "small", torch.erf, [torch.tensor([1e-38, -1e-10, 1e-3, 0.84375, 0.84374, 1.25, 2.857, 6.01, -27.0])], both=True)
    each("sin", "range", torch.sin, [torch.linspace(-50, 50, 41)], both=True)
    each("cos", "range", torch.cos, [torch.linspace(-50, 50, 41)], both=True)
    variants("square", "", torch.square)
    halves = torch.tensor([0.5, -0.5, 1.5, -1.5, 2.5, 3.5, 0.49999997, -2.0, 8388609.0, 1e30])
    for name, f in (("floor", torch.floor), ("ceil", torch.ceil), ("round", torch.round)):
        variants(name, "", f)
        each(name, "halves", f, [halves], both=True)
        case(name, "integers", f, [integers([2, 3], 12, -5, 5)], dtype=None)


def clamps():
    bounds = {"both": (-1.0, 1.0), "crossed": (1.0, -0.5), "low": (-0.5, None), "high": (None, 0.5)}
    for tag, (low, high) in bounds.items():
        f = lambda t: torch.clamp(t, low, high)
        variants("clamp", f"{tag}_", f, args={"min": low, "max": high})
    f = lambda t: torch.clamp(t, -2, 1)
    case("clamp", "integers", f, [integers([2, 3], 12, -5, 5)], args={"min": -2, "max": 1}, dtype=None)


def activations():
    for form in ("none", "tanh"):
        f = lambda t: F.gelu(t, approximate=form)
        variants("gelu", f"{form}_", f, args={"approximate": form})
        each("gelu", f"{form}_range", f, [torch.linspace(-6, 6, 49)], args={"approximate": form}, both=True)
    variants("silu", "", F.silu)
    each("silu", "range", F.silu, [torch.linspace(-30, 30, 49)], both=True)
    for tag, beta, threshold in (("default", 1.0, 20.0), ("steep", 2.5, 1.0), ("negative", -1.5, 0.5)):
        f = lambda t: F.softplus(t, beta, threshold)
        variants("softplus", f"{tag}_", f, args={"beta": beta, "threshold": threshold})
    for tag, slope in (("small", 0.01), ("negative", -0.5), ("zero", 0.0)):
        f = lambda t: F.leaky_relu(t, slope)
        variants("leaky_relu", f"{tag}_", f, args={"negative_slope": slope})
    for tag, alpha in (("default", 1.0), ("wide", 1.7), ("negative", -0.3)):
        f = lambda t: F.elu(t, alpha)
        variants("elu", f"{tag}_", f, args={"alpha": alpha})


def record():
    for group in (functions, clamps, activations):
        group()
