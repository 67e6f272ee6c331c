"""Channel and pixel shuffles, unpooling, negative padding, infinity norms."""

import torch
import torch.nn.functional as F

from common import NAMES, random, write_safetensors
from op_cases import CASES, INF, NAN, TENSORS, case, each


def everywhere(name, f, shape, args, tag=""):
    """In every layout and precision."""
    x, last = random(shape, 3), len(shape) - 1
    layouts = {"contiguous": "contiguous", "transposed": f"transposed:1,{last}", "narrowed": f"narrowed:{last}", "strided": "strided:1"}
    for variant, layout in layouts.items():
        for dtype in ("f32", "f64", "f16", "bf16") if variant == "contiguous" else ("f32",):
            case(name, tag + variant, f, [x], [layout], args=args, dtype=dtype)
    case(name, tag + "expanded", f, [x[:1].expand(shape)], ["expanded:0"], args=args)


def shuffles():
    everywhere("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), [2, 8, 3, 2], {"factor": 2})
    everywhere("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), [2, 2, 6, 4], {"factor": 2})
    everywhere("channel_shuffle", lambda x: F.channel_shuffle(x, 3), [2, 6, 3, 2], {"factor": 3})
    special = torch.tensor([NAN, INF, -INF, -0.0]).reshape(4, 1, 1)
    each("pixel_shuffle", "special", lambda x: F.pixel_shuffle(x, 2), [special], args={"factor": 2})
    each("pixel_shuffle", "more_dimensions", lambda x: F.pixel_shuffle(x, 2), [random([2, 1, 4, 1, 3], 1)], args={"factor": 2})
    each("channel_shuffle", "empty", lambda x: F.channel_shuffle(x, 2), [random([0, 4, 3], 1)], args={"factor": 2})
    case("channel_shuffle", "integers", lambda x: F.channel_shuffle(x, 2), [torch.arange(12).reshape(1, 4, 3)], args={"factor": 2}, dtype=None)


def unpooling():
    torch.use_deterministic_algorithms(False)
    for dims, size in ((1, [8]), (2, [4, 6]), (3, [4, 2, 4])):
        unpool, args = getattr(F, f"max_unpool{dims}d"), {"output_size": size}
        found = getattr(F, f"max_pool{dims}d")(random([2, 3, *size], 5), 2, return_indices=True)
        f = lambda x, places: unpool(x, places, 2)
        # PyTorch has no gradient of what is not contiguous.
        for variant, layout in (("contiguous", "contiguous"), ("transposed", f"transposed:1,{dims + 1}"), ("strided", "strided:1")):
            each(f"max_unpool{dims}d", variant, f, list(found), [layout, layout], args=args,
                 grad=variant == "contiguous")
        each(f"max_unpool{dims}d", "unbatched", f, [part[0] for part in found], args=args)
        each(f"max_unpool{dims}d", "empty", f, [part[:0] for part in found], args=args)
    torch.use_deterministic_algorithms(True)


def pads():
    for mode in ("reflect", "replicate", "circular"):
        for tag, pad in (("cut", [-1, -2]), ("before", [-2, 2]), ("after", [3, -1]), ("two", [-1, 1, 2, -1])):
            f = lambda x: F.pad(x, pad, mode=mode)
            everywhere("pad", f, [2, 2, 4, 6] if tag == "two" else [2, 3, 6], {"pad": pad, "mode": mode}, f"{mode}_{tag}_")


def norms():
    for dims, size in ((1, [7]), (2, [5, 4]), (3, [3, 4, 2])):
        for name, p in (("inf", INF), ("minus_inf", -INF)):
            f = lambda x: getattr(F, f"lp_pool{dims}d")(x, p, 2, stride=1)
            everywhere(f"lp_pool{dims}d", f, [2, 2, *size], {"norm_type": str(p)}, f"{name}_")
        f = lambda x: getattr(F, f"lp_pool{dims}d")(x, 2.0, 2, stride=1)
        half = torch.cat([torch.zeros(1, 2, *size), random([1, 2, *size], 4)])
        each(f"lp_pool{dims}d", "zeros", f, [half], args={"norm_type": "2"}, both=True)


def write():
    CASES.clear()
    TENSORS.clear()
    for group in (shuffles, unpooling, pads, norms):
        group()
    assert all(tensor.dtype in NAMES for tensor in TENSORS.values())
    write_safetensors("ops_shuffle.safetensors", TENSORS, CASES)
    return len(CASES)
