"""creation.safetensors: sequences, and integers and choices drawn by the default generator."""

import torch

from common import DTYPES, random, write_safetensors

TENSORS, CASES = {}, []


def add(op, tensor, dtype, seed=None, **args):
    """Record a tensor; what the generator draws next shows how much was drawn."""
    key = f"{op}.{len(CASES)}"
    TENSORS[f"{key}.out"] = tensor
    if seed is not None:
        TENSORS[f"{key}.next"] = torch.rand(2)
    CASES.append({"key": key, "op": op, "dtype": dtype, "seed": seed, "args": args})


def sequences():
    for dtype in ("f32", "f64", "f16", "bf16", "i64", "i32", "u8"):
        kind = DTYPES[dtype]
        whole = not kind.is_floating_point
        for start, end, step in ((0, 7, 1), (1, 10, 3), (1, 11, 5), (9, 0, -4), (3, 3, 1), (3, 3, -1), (0, 40, 1)):
            out = torch.arange(start, end, step, dtype=kind)
            add("arange", out, dtype, start=start, end=end, step=step)
        if not whole:
            for start, end, step in ((0.0, 1.0, 0.1), (-1.0, 1.0, 0.3), (2.5, -1.0, -0.5), (0.0, 0.5, 1.0)):
                out = torch.arange(start, end, step, dtype=kind)
                add("arange", out, dtype, start=start, end=end, step=step)
        for start, end, steps in ((0.0, 1.0, 5), (1.0, 9.0, 4), (3.0, 3.0, 3), (5.0, 1.0, 6), (2.0, 7.0, 1), (2.0, 7.0, 0), (0.0, 100.0, 33), (1.0, 2.0, 2)):
            out = torch.linspace(start, end, steps, dtype=kind)
            add("linspace", out, dtype, start=start, end=end, steps=steps)
        # The last bits show in which type, from which end and with how many roundings each is computed.
        for start, end, steps in ((-3, 250, 7), (0.7, 87.3, 16), (-757, 547, 15), (-9.3, 1.1, 33), (2.9, 3.2, 100), (200, 3, 257)):
            if dtype == "u8" and start < 0:
                continue
            out = torch.linspace(start, end, steps, dtype=kind)
            add("linspace", out, dtype, start=start, end=end, steps=steps)
        for n, m in ((3, 3), (2, 4), (4, 2), (0, 3), (1, 1)):
            add("eye", torch.eye(n, m, dtype=kind), dtype, n=n, m=m)
    add("eye", torch.eye(2, 3, dtype=torch.bool), "bool", n=2, m=3)


def draws():
    for seed, shape in enumerate(([3], [16], [5, 7], [], [0, 2], [2, 100])):
        for dtype in ("i64", "i32", "u8", "f32", "f64", "f16", "bf16"):
            kind = DTYPES[dtype]
            for low, high in ((0, 10), (5, 6), (0, 200)) + (((-50, 30),) if dtype != "u8" else ()):
                torch.manual_seed(seed)
                add("randint", torch.randint(low, high, shape, dtype=kind), dtype, seed, low=low, high=high, shape=shape)
        for low, high in ((0, 2**40), (-(2**62), 2**62), (0, 2**28), (0, 2**28 - 1)):
            torch.manual_seed(seed)
            add("randint", torch.randint(low, high, shape), "i64", seed, low=low, high=high, shape=shape)
        torch.manual_seed(seed)
        add("randint", torch.randint(0, 2, shape, dtype=torch.bool), "bool", seed, low=0, high=2, shape=shape)
        for dtype in DTYPES:
            for p in (0.0, 0.25, 0.7, 1.0):
                torch.manual_seed(seed)
                out = torch.empty(shape, dtype=DTYPES[dtype]).bernoulli_(p)
                add("bernoulli_with", out, dtype, seed, p=p, shape=shape)
    for n in (0, 1, 2, 10, 16, 17, 300):
        torch.manual_seed(n)
        add("randperm", torch.randperm(n), "i64", n, n=n)
    for seed, shape in enumerate(([3], [16], [4, 9], [2, 100], [])):
        for dtype in ("f32", "f64", "f16", "bf16"):
            p = random(shape, seed, low=0.0, high=1.0).to(DTYPES[dtype])
            # Drawn in the order of the elements, not in that of memory.
            for layout in ("contiguous", "transposed:0,1") if len(shape) == 2 else ("contiguous",):
                view = p.t().contiguous().t() if layout != "contiguous" else p
                torch.manual_seed(seed)
                TENSORS[f"bernoulli.{len(CASES)}.in0"] = p
                add("bernoulli", torch.bernoulli(view), dtype, seed, layout=layout)


def write():
    TENSORS.clear()
    CASES.clear()
    sequences()
    draws()
    write_safetensors("creation.safetensors", TENSORS, CASES)
    return len(CASES)
