"""Operations with windows over one to three dimensions, and image resizing."""

import contextlib

import torch
import torch.nn.functional as F

from common import NAMES, integers, random, write_safetensors
from op_cases import CASES, INF, NAN, TENSORS, case, each

SIZES = {1: [7], 2: [5, 4], 3: [3, 4, 2]}


def image(dims, seed, batch=2, channels=2):
    return random([batch, channels, *SIZES[dims]], seed)


def everywhere(name, f, x, args, others=()):
    """In every layout and precision, without a batch, and with an empty one."""
    last = x.dim() - 1
    record = lambda variant, x, layout="contiguous", dtype="f32": case(
        name, variant, f, [x, *others], [layout] + ["contiguous"] * len(others), args=args, dtype=dtype
    )
    for dtype in ("f32", "f64"):
        record("contiguous", x, dtype=dtype)
    for dtype in ("f16", "bf16"):
        # Where PyTorch computes it on the CPU.
        with contextlib.suppress(NotImplementedError):
            record("contiguous", x, dtype=dtype)
    record("transposed", x, f"transposed:1,{last}")
    record("narrowed", x, f"narrowed:{last}")
    record("strided", x, f"strided:{last}")
    record("expanded", x[:1].expand(x.shape), "expanded:0")
    return record


def convolutions():
    kernels = {1: [3], 2: [3, 2], 3: [2, 3, 2]}
    for dims in (1, 2, 3):
        name, convolve = f"conv{dims}d", getattr(F, f"conv{dims}d")
        plain = {"stride": [1] * dims, "padding": [0] * dims, "dilation": [1] * dims, "groups": 1}
        x, weight = image(dims, 1, channels=4), random([2, 4, *kernels[dims]], 2)

        def conv(variant, x, weight, layouts=None, both=False, **changes):
            args = plain | changes
            each(name, variant, lambda x, w: convolve(x, w, None, **args), [x, weight], layouts, args=args, both=both)

        if dims != 2:
            everywhere(name, lambda x, w: convolve(x, w), x, plain, [weight])
        conv("unbatched", x[0], weight)
        conv("strides", x, weight, stride=[2, 1, 2][:dims], padding=[1, 2, 0][:dims], both=True)
        conv("dilation", x, weight, dilation=[1, 2, 2][:dims], padding=[1] * dims)
        conv("valid", x, weight, padding="valid")
        conv("same", x, weight, padding="same")
        conv("same_dilation", x, weight, padding="same", dilation=[2] * dims)
        conv("groups", x, random([6, 2, *kernels[dims]], 3), groups=2, padding=[1] * dims)
        conv("depthwise", x, random([4, 1, *kernels[dims]], 4), groups=4, padding=[1] * dims, both=True)
        conv("depthwise_strides", x, random([8, 1, *kernels[dims]], 5), groups=4, stride=[2] * dims, padding=[1] * dims)
        conv("pointwise", x, random([3, 4] + [1] * dims, 6), both=True)
        conv("pointwise_strides", x, random([3, 4] + [1] * dims, 6), stride=[2] * dims)
        conv("one_output", x, weight[:1], padding=[1] * dims)
        conv("weight_transposed", x, random([4, 4, *kernels[dims]], 7), ["contiguous", "transposed:0,1"])
        conv("weight_strided", x, weight, ["strided:1", "strided:0"])
        if dims != 2:
            conv("empty", x[:0], weight)

        name, transpose = f"conv_transpose{dims}d", getattr(F, f"conv_transpose{dims}d")
        plain = plain | {"output_padding": [0] * dims}
        x, weight = image(dims, 11, channels=2)[..., :3], random([2, 3, *kernels[dims]], 12)

        def back(variant, x, weight, layouts=None, both=False, **changes):
            args = plain | changes
            each(name, variant, lambda x, w: transpose(x, w, None, **args), [x, weight], layouts, args=args, both=both)

        everywhere(name, lambda x, w: transpose(x, w), x, plain, [weight])
        back("unbatched", x[0], weight)
        back("strides", x, weight, stride=[2, 3, 2][:dims], padding=[1, 0, 1][:dims], both=True)
        back("output_padding", x, weight, stride=[2] * dims, output_padding=[1] * dims, padding=[1] * dims)
        back("dilation", x, weight, dilation=[3, 1, 2][:dims], output_padding=[2, 0, 1][:dims])
        back("groups", x, random([2, 2, *kernels[dims]], 13), groups=2, stride=[2] * dims)
        back("depthwise", x, random([2, 1, *kernels[dims]], 14), groups=2, stride=[2] * dims, both=True)
        back("pointwise", x, random([2, 3] + [1] * dims, 15))
        back("weight_transposed", x, random([2, 2, *kernels[dims]], 16), ["contiguous", "transposed:0,1"])
        back("empty", x[:0], weight)


def poolings():
    for dims in (1, 2, 3):
        ties = integers([2, 2, *SIZES[dims]], 21, -2, 3).float()
        special = ties.clone()
        special.view(-1)[[0, 5, 9, 20]] = torch.tensor([NAN, INF, -INF, NAN])
        x = image(dims, 22)
        ones, zeros = [1] * dims, [0] * dims

        name, pool = f"max_pool{dims}d", getattr(F, f"max_pool{dims}d")
        plain = {"kernel_size": [2] * dims, "stride": [2] * dims, "padding": zeros, "dilation": ones, "ceil_mode": False}
        greatest = lambda args: lambda t: pool(t, return_indices=True, **args)
        everywhere(name, greatest(plain), x, plain)(variant="unbatched", x=x[0])
        for variant, values, changes in (
            ("ties", ties, {}),
            ("special", special, {}),
            ("overlap", ties, {"kernel_size": [3, 3, 2][:dims], "stride": [1, 2, 1][:dims], "padding": ones}),
            ("ceil", x, {"stride": [3, 2, 2][:dims], "ceil_mode": True, "padding": ones}),
            ("dilation", x, {"dilation": [2, 2, 1][:dims], "stride": ones}),
            ("empty", x[:0], {}),
        ):
            args = plain | changes
            each(name, variant, greatest(args), [values], args=args)

        name, mean = f"avg_pool{dims}d", getattr(F, f"avg_pool{dims}d")
        plain = {"kernel_size": [2] * dims, "stride": [2] * dims, "padding": zeros, "ceil_mode": False, "count_include_pad": True}
        everywhere(name, lambda t: mean(t, **plain), x, plain)(variant="unbatched", x=x[0])
        changes = {
            "overlap": {"kernel_size": [3, 3, 2][:dims], "stride": ones, "padding": ones},
            "not_counted": {"kernel_size": [3, 3, 2][:dims], "stride": [2] * dims, "padding": ones, "count_include_pad": False},
            "ceil": {"stride": [3, 2, 2][:dims], "ceil_mode": True, "padding": ones},
            "ceil_not_counted": {"kernel_size": [3, 3, 2][:dims], "stride": [2] * dims, "padding": ones, "ceil_mode": True, "count_include_pad": False},
            "far": {"kernel_size": ones, "stride": [3] * dims},
        }
        if dims > 1:
            changes["divisor"] = {"divisor_override": 3, "padding": ones}
        for variant, change in changes.items():
            args = plain | change
            each(name, variant, lambda t: mean(t, **args), [x], args=args, both=True)
        infinite = torch.where(special.isnan(), torch.tensor(1.0), special)
        each(name, "special", lambda t: mean(t, **plain), [infinite], args=plain)
        each(name, "empty", lambda t: mean(t, **plain), [x[:0]], args=plain)

        sizes = {"less": [3, 2, 2][:dims], "more": [9, 7, 4][:dims], "one": ones, "keep": [None, 3, 2][:dims]}
        for kind in ("avg", "max"):
            name, f = f"adaptive_{kind}_pool{dims}d", getattr(F, f"adaptive_{kind}_pool{dims}d")
            more = {"return_indices": True} if kind == "max" else {}
            args = {"output_size": sizes["less"]}
            everywhere(name, lambda t: f(t, sizes["less"], **more), x, args)(variant="unbatched", x=x[0])
            for variant, size in sizes.items():
                if variant == "keep" and dims == 1:
                    continue
                each(name, variant, lambda t: f(t, size, **more), [ties], args={"output_size": size}, both=True)
            if kind == "max":
                each(name, "special", lambda t: f(t, sizes["less"], **more), [special], args=args)
            each(name, "empty", lambda t: f(t, sizes["less"], **more), [x[:0]], args=args)

        name, norm = f"lp_pool{dims}d", getattr(F, f"lp_pool{dims}d")
        positive = x.abs() + 0.5
        plain = {"norm_type": 2.0, "kernel_size": [2] * dims, "stride": [2] * dims, "ceil_mode": False}
        call = lambda args: lambda t: norm(t, args["norm_type"], *((v[0] if dims == 1 else v) for v in (args["kernel_size"], args["stride"])), args["ceil_mode"])
        everywhere(name, call(plain), positive, plain)(variant="unbatched", x=positive[0])
        for variant, change in {"ceil": {"ceil_mode": True, "stride": [3] * dims}, "cubes": {"norm_type": 3.0, "stride": ones}, "root": {"norm_type": 0.5}}.items():
            args = plain | change
            each(name, variant, call(args), [positive], args=args, both=True)


def columns():
    x = image(2, 31)
    plain = {"kernel_size": [2, 3], "dilation": [1, 1], "padding": [0, 0], "stride": [1, 1]}
    changes = {
        "padding": {"padding": [1, 2]},
        "strides": {"stride": [2, 3], "padding": [1, 0]},
        "dilation": {"dilation": [2, 1]},
        "one": {"kernel_size": [1, 1]},
    }
    everywhere("im2col", lambda t: F.unfold(t, **plain), x, plain)(variant="unbatched", x=x[0])
    folded = plain | {"output_size": SIZES[2]}
    y = random(F.unfold(x, **plain).shape, 32)
    everywhere("col2im", lambda t: F.fold(t, **folded), y, folded)(variant="unbatched", x=y[0])
    for variant, change in changes.items():
        args = plain | change
        each("im2col", variant, lambda t: F.unfold(t, **args), [x], args=args, both=True)
        y, args = random(F.unfold(x, **args).shape, 33), args | {"output_size": SIZES[2]}
        each("col2im", variant, lambda t: F.fold(t, **args), [y], args=args, both=True)
    each("im2col", "special", lambda t: F.unfold(t, **plain), [torch.where(x > 1, torch.tensor(NAN), x)], args=plain)
    each("im2col", "empty", lambda t: F.unfold(t, **plain), [x[:0]], args=plain)


def other_sizes():
    modes = {
        "nearest": (1, 2, 3),
        "nearest-exact": (1, 2, 3),
        "linear": (1,),
        "bilinear": (2,),
        "trilinear": (3,),
        "bicubic": (2,),
        "area": (1, 2, 3),
    }
    sizes = {"grow": [11, 6, 3], "shrink": [3, 4, 2], "mixed": [4, 8, 2], "one": [1, 1, 1], "double": None, "same": None}
    factors = {"by_two": [2.0], "by_half": [0.5], "by_odd": [1.3, 0.7, 1.7], "hardly": [1.05]}
    for mode, all_dims in modes.items():
        for dims in all_dims:
            x = image(dims, 41, batch=1)
            tag = f"{mode.replace('-', '_')}{dims}d"

            def call(args):
                return lambda t: F.interpolate(t, **{k: v for k, v in args.items() if v is not None})

            def record(variant, args, **kwargs):
                args = {"mode": mode} | args
                each("interpolate", f"{tag}_{variant}", call(args), [x], args=args, **kwargs)

            args = {"mode": mode, "size": sizes["mixed"][:dims]}
            layouts = {"transposed": f"transposed:1,{dims + 1}", "narrowed": f"narrowed:{dims + 1}", "strided": "strided:2"}
            for variant, layout in layouts.items():
                case("interpolate", f"{tag}_{variant}", call(args), [x], [layout], args=args)
            case("interpolate", f"{tag}_expanded", call(args), [x[:, :1].expand(x.shape)], ["expanded:1"], args=args)
            for dtype in ("f16", "bf16"):
                case("interpolate", f"{tag}_half", call(args), [x], args=args, dtype=dtype)
            case("interpolate", f"{tag}_empty", call(args), [x[:0]], args=args)
            for variant, size in sizes.items():
                if variant == "double":
                    size = [2 * n for n in SIZES[dims]]
                elif variant == "same":
                    size = SIZES[dims]
                record(variant, {"size": size[:dims]}, both=variant in ("grow", "shrink"))
                if "linear" in mode or mode == "bicubic":
                    record(f"{variant}_corners", {"size": size[:dims], "align_corners": True}, both=variant == "grow")
            for variant, factor in factors.items():
                factor = factor * dims if len(factor) == 1 else factor[:dims]
                record(variant, {"scale_factor": factor}, both=variant == "by_odd")
            if "linear" in mode or mode == "bicubic":
                record("by_odd_corners", {"scale_factor": factors["by_odd"][:dims], "align_corners": True})
    special = torch.tensor([[[NAN, INF, -INF, -0.0, 1.0]]])
    args = {"mode": "nearest", "size": [8]}
    each("interpolate", "special", lambda t: F.interpolate(t, **args), [special], args=args)
    # Where the rounding of the coordinate decides.
    for mode in ("nearest", "nearest-exact"):
        for size, to in ((10, 6), (14, 10), (22, 14), (25, 45), (41, 59), (49, 35)):
            args = {"mode": mode, "size": [to]}
            each("interpolate", f"{mode.replace('-', '_')}_{size}_{to}", lambda t: F.interpolate(t, **args), [torch.arange(size).float().reshape(1, 1, size)], args=args, both=True)


def write():
    count = 0
    families = {"convolutions": (convolutions, columns), "pooling": (poolings,), "interpolate": (other_sizes,)}
    for name, groups in families.items():
        CASES.clear()
        TENSORS.clear()
        for group in groups:
            group()
        assert all(tensor.dtype in NAMES for tensor in TENSORS.values())
        write_safetensors(f"ops_{name}.safetensors", TENSORS, CASES)
        count += len(CASES)
    return count
