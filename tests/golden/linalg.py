"""linalg.safetensors: torch.linalg, as functions that do not depend on the signs of vectors.

`op_cases.py` describes the recordings.
"""

import torch

from op_cases import case, write_files
from common import random

L = torch.linalg
LAYOUTS = {"contiguous": "contiguous", "transposed": "transposed:-1,-2", "narrowed": "narrowed:1", "strided": "strided:0"}
SHAPES = {"square": [4, 4], "tall": [5, 3], "wide": [3, 5], "column": [4, 1], "row": [1, 4], "one": [1, 1], "batch": [2, 3, 3], "no_batch": [0, 3, 3], "no_rows": [0, 3], "no_columns": [3, 0], "nothing": [0, 0]}


def each(name, variant, *args, **kwargs):
    """Both precisions, which the computation does not depend on."""
    for dtype in ("f32", "f64"):
        case(name, variant, *args, dtype=dtype, **kwargs)


def matrices(square=False):
    """A name, a matrix with values well apart, its layout."""
    for i, (name, shape) in enumerate(SHAPES.items()):
        if square and shape[-1] != shape[-2]:
            continue
        x = random(shape, 140 + i)
        if min(shape[-2:]) > 0:
            k = min(shape[-2:])
            x[..., range(k), range(k)] += 3 * torch.arange(1.0, k + 1)
        yield name, x, "contiguous"
        if name in ("square", "tall"):
            for variant, layout in LAYOUTS.items():
                if variant != "contiguous":
                    yield f"{name}_{variant}", x, layout


def decompositions():
    for name, x, layout in matrices():
        filled = x.numel() > 0
        each("svd_s", name, lambda t: L.svd(t, full_matrices=False)[1], [x], [layout])
        each("svd_u", name, lambda t: L.svd(t, full_matrices=False)[0].abs(), [x], [layout], grad=filled)
        each("svd_vh", name, lambda t: L.svd(t, full_matrices=False)[2].abs(), [x], [layout], grad=filled)
        each("svd_full", name, lambda t: [p.abs() for p in L.svd(t)][0][..., : min(t.shape[-2:])], [x], [layout], grad=filled)
        polar = lambda t: (lambda u, s, v: u @ v)(*L.svd(t, full_matrices=False))
        each("svd_polar", name, polar, [x], [layout], grad=filled)
        each("svdvals", name, L.svdvals, [x], [layout])
        each("qr_q", name, lambda t: L.qr(t)[0].abs(), [x], [layout], grad=filled)
        each("qr_r", name, lambda t: L.qr(t)[1].abs(), [x], [layout], grad=filled)
        each("qr_only_r", name, lambda t: L.qr(t, mode="r")[1].abs(), [x], [layout], grad=False)
        each("qr_complete_r", name, lambda t: L.qr(t, mode="complete")[1].abs(), [x], [layout], grad=False)
    for name, x, layout in matrices(square=True):
        filled = x.numel() > 0
        symmetric = lambda t: t + t.mT
        each("eigh_values", name, lambda t: L.eigh(symmetric(t))[0], [x], [layout])
        each("eigh_vectors", name, lambda t: L.eigh(symmetric(t))[1].abs(), [x], [layout], grad=filled)
        # Of the triangle that is read, alone.
        each("eigvalsh", name, L.eigvalsh, [x + x.mT], [layout])
        positive = x @ x.mT + torch.eye(x.shape[-1])
        for upper in (False, True):
            args = {"upper": upper}
            each("cholesky", f"{name}_{upper}", lambda t: L.cholesky(t, upper=upper), [positive], [layout], args=args)
            # Only one triangle is read.
            each("cholesky", f"{name}_{upper}_half", lambda t: L.cholesky(t, upper=False), [positive.tril() + x.triu(1)], [layout], args={"upper": False}, grad=False) if not upper else None


def systems():
    for name, x, layout in matrices(square=True):
        n = x.shape[-1]
        right = random([*x.shape[:-1], 2], 170)
        each("inv", name, L.inv, [x], [layout])
        each("det", name, L.det, [x], [layout])
        each("slogdet", name, lambda t: tuple(L.slogdet(t))[::-1], [x], [layout])
        each("solve", name, lambda a, b: L.solve(a, b), [x, right], [layout, "contiguous"], args={"left": True})
        each("solve", f"{name}_right", lambda a, b: L.solve(a, b, left=False), [x, right.mT], [layout, "contiguous"], args={"left": False})
        each("solve", f"{name}_vector", lambda a, b: L.solve(a, b), [x, right[..., 0]], [layout, "contiguous"], args={"left": True})
        for upper in (False, True):
            for left in (False, True):
                for unitriangular in (False, True):
                    args = {"upper": upper, "left": left, "unitriangular": unitriangular}
                    f = lambda a, b: L.solve_triangular(a, b, **args)
                    b = right if left else right.mT
                    if name in ("square", "batch", "square_transposed", "nothing"):
                        each("solve_triangular", f"{name}_{upper}_{left}_{unitriangular}", f, [x, b], [layout, "contiguous"], args=args)
    # Batches that are broadcast.
    a, b = random([3, 3], 171) + 4 * torch.eye(3), random([2, 3, 2], 172)
    each("solve", "broadcast", lambda a, b: L.solve(a, b), [a, b], args={"left": True})
    each("solve", "broadcast_right", lambda a, b: L.solve(a, b), [a[None, None].expand(2, 1, 3, 3).clone(), b], args={"left": True})
    each("solve", "broadcast_vector", lambda a, b: L.solve(a, b), [torch.stack([a, a.mT]), b[0, :, 0]], args={"left": True})
    args = {"upper": True, "left": True, "unitriangular": False}
    each("solve_triangular", "broadcast", lambda a, b: L.solve_triangular(a, b, upper=True), [a, b], args=args)
    # Permutations of both signs, and singular matrices.
    swapped = torch.eye(4)[[1, 0, 3, 2]] * torch.tensor([1.0, -2.0, 3.0, 0.5])
    each("det", "even", L.det, [swapped])
    each("det", "odd", L.det, [swapped[[1, 0, 2, 3]]])
    each("slogdet", "even", lambda t: tuple(L.slogdet(t))[::-1], [swapped])
    each("slogdet", "odd", lambda t: tuple(L.slogdet(t))[::-1], [swapped[[1, 0, 2, 3]]])
    singular = torch.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    each("det", "singular", L.det, [singular])
    each("det", "zero", L.det, [torch.zeros(3, 3)])
    each("slogdet", "singular", lambda t: tuple(L.slogdet(t))[::-1], [torch.zeros(3, 3)], grad=False)


def write():
    return write_files({"linalg.safetensors": (decompositions, systems)})
