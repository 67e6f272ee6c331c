"""ops_grids.safetensors, ops_functional.safetensors: grid sampling; antialiased resizing, unit vectors,
Gumbel softmax.

`op_cases.py` describes the recordings.
"""

import torch
from torch.nn import functional as F

from common import random
from op_cases import INF, NAN, case, each, write_files


def grids():
    def record(tag, x, grid, mode="bilinear", padding="zeros", corners=False, layouts=None, **options):
        args = {"mode": mode, "padding_mode": padding, "align_corners": corners}
        f = lambda x, g: F.grid_sample(x, g, mode, padding, corners)
        each("grid_sample", tag, f, [x, grid], layouts, args=args, **options)

    x, grid = random([2, 3, 4, 5], 351), random([2, 3, 4, 2], 352, low=-1.6, high=1.6)
    deep, cube = random([2, 2, 3, 4, 5], 353), random([2, 2, 3, 2, 3], 354, low=-1.6, high=1.6)
    for padding in ("zeros", "border", "reflection"):
        for corners in (False, True):
            tag = f"{padding}{'_corners' if corners else ''}"
            for mode in ("bilinear", "nearest", "bicubic"):
                record(f"{mode}_{tag}", x, grid, mode, padding, corners, both=True)
                # Far outside, the mirror turns more than once.
                record(f"{mode}_{tag}_far", x[:1], grid[:1] * 9, mode, padding, corners)
            for mode in ("bilinear", "nearest"):
                record(f"{mode}_{tag}_3d", deep, cube, mode, padding, corners, both=True)
    record("laid", x, grid, layouts=["transposed:2,3", "transposed:0,1"])
    record("laid_3d", deep, cube, layouts=["strided:1", "narrowed:2"])
    record("expanded", x[:, :1].expand(2, 3, 4, 5), grid[:1].expand(2, 3, 4, 2), "bicubic", layouts=["expanded:1", "expanded:0"])
    record("empty", x[:0], grid[:0])
    record("no_locations", x, grid[:, :0])
    record("no_channels", x[:, :0], grid)
    record("one_place", random([1, 2, 1, 1], 355), grid[:1], padding="reflection", corners=True, both=True)
    record("one_place_border", random([1, 2, 1, 1], 355), grid[:1], padding="border")
    special = x.clone()
    special.view(-1)[:9:3] = torch.tensor([NAN, INF, -INF])
    # What a location outside does not read may be NaN.
    record("special", special, grid, both=True)
    record("special_nearest", special, grid, "nearest", both=True)
    record("on_places", x[:1], torch.tensor([[[[-1.0, -1.0], [1.0, 1.0], [0.0, -1.0]]]]), corners=True, both=True)
    # On the border, where the gradient of the grid stops.
    ends = torch.tensor([[[[-1.0, -1.0], [1.0, 1.0], [0.0, -1.0], [0.25, 1.0], [-1.0, 0.5], [3.0, -3.0]]]])
    for padding in ("border", "reflection"):
        record(f"on_border_{padding}_corners", x[:1], ends, padding=padding, corners=True, both=True)
        record(f"on_border_{padding}", x[:1, :, :, :4], ends * 0.75, padding=padding, both=True)
    # Numbers of channels that are computed in other ways.
    for channels in (1, 2, 4, 6, 8, 9, 16, 33):
        record(f"channels_{channels}", random([2, channels, 3, 4], 357), grid, both=channels < 9)
    record("far_away", x[:1], torch.tensor([[[[1e10, 0.0], [0.0, -1e10], [-3e4, 3e4]]]]), padding="border", both=True)
    record("many_channels", random([1, 17, 2, 3], 356), grid[:1])


def affine():
    def record(tag, theta, size, corners=False, layout="contiguous", **options):
        args = {"size": size, "align_corners": corners}
        each("affine_grid", tag, lambda t: F.affine_grid(t, size, corners), [theta], [layout], args=args, **options)

    theta, cube = random([2, 2, 3], 361), random([2, 3, 4], 362)
    for corners in (False, True):
        tag = "_corners" if corners else ""
        record(f"plane{tag}", theta, [2, 3, 4, 5], corners, both=True)
        record(f"space{tag}", cube, [2, 1, 2, 3, 4], corners, both=True)
    record("one", theta, [2, 1, 1, 1])
    record("row_corners", theta, [2, 1, 1, 3], True)
    record("laid", theta, [2, 1, 2, 3], layout="transposed:1,2")
    special = theta.clone()
    special[0, 0, 2], special[1, 1, 2] = NAN, INF
    record("special", special, [2, 1, 2, 2], both=True)


def averages():
    def record(tag, x, mode, corners=False, layout="contiguous", **to):
        args = {"mode": mode, "align_corners": corners, "antialias": True, **to}
        f = lambda t: F.interpolate(t, mode=mode, align_corners=corners, antialias=True, **to)
        each("interpolate", tag, f, [x], [layout], args=args, both=True)

    x = random([2, 3, 7, 9], 371)
    for mode in ("bilinear", "bicubic"):
        record(f"{mode}_averages_smaller", x, mode, size=[3, 4])
        record(f"{mode}_averages_larger", x[..., :3, :4], mode, size=[7, 9])
        record(f"{mode}_averages_mixed", x, mode, layout="transposed:2,3", size=[2, 13])
        record(f"{mode}_averages_same", x, mode, size=[7, 9])
        record(f"{mode}_averages_one", x, mode, size=[1, 1])
        record(f"{mode}_averages_corners", x, mode, True, size=[4, 5])
        record(f"{mode}_averages_corners_larger", x[:1], mode, True, layout="narrowed:3", size=[9, 11])
        record(f"{mode}_averages_factor", x, mode, scale_factor=[0.4, 0.65])
        record(f"{mode}_averages_factor_corners", x[:1], mode, True, scale_factor=[0.5, 1.5])


def functions():
    def unit(tag, x, p=2.0, dim=1, eps=1e-12, layout="contiguous", **options):
        args = {"p": "inf" if p == INF else p, "dim": dim, "eps": eps}
        each("normalize", tag, lambda t: F.normalize(t, p, dim, eps), [x], [layout], args=args, **options)

    x = random([3, 4], 381)
    unit("contiguous", x)
    for p in (0.5, 1.0, 3.0, INF):
        unit(f"p{str(p).replace('.', '_')}", x, p, both=True)
    unit("dim0", x, dim=0, layout="transposed:0,1")
    unit("dims", random([2, 3, 4], 382), dim=[0, 2])
    unit("small", x * 1e-3, eps=0.01, both=True)
    unit("zeros", torch.zeros(2, 3), both=True)
    unit("empty", x[:0])
    unit("scalar", torch.tensor(-2.5), dim=0)
    unit("special", torch.tensor([[NAN, 1.0], [INF, 1.0], [0.0, 2.0]]), both=True)

    def gumbel(tag, x, tau=1.0, hard=False, dim=-1, layout="contiguous", **options):
        args = {"tau": tau, "hard": hard, "dim": dim}

        def f(t):
            torch.manual_seed(5)
            return F.gumbel_softmax(t, tau, hard, dim=dim)

        each("gumbel_softmax", tag, f, [x], [layout], args=args, **options)

    for hard in (False, True):
        tag = "hard_" if hard else ""
        gumbel(f"{tag}contiguous", x, hard=hard, both=True)
        gumbel(f"{tag}cold", x, 0.3, hard, both=True)
        gumbel(f"{tag}dim0", x, 2.0, hard, 0, "transposed:0,1")
        gumbel(f"{tag}large", random([5, 40], 383), hard=hard)
        gumbel(f"{tag}empty", x[:0], hard=hard)


FILES = {
    "ops_grids.safetensors": (grids, affine),
    "ops_functional.safetensors": (averages, functions),
}


def write():
    return write_files(FILES)
