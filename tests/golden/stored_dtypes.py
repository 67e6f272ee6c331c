"""stored_dtypes/: storage-only dtypes in files of PyTorch, NumPy and safetensors; how
PyTorch casts to and from them, and how it prints them."""

import io

import numpy
import torch
from safetensors.torch import save

from checkpoints import big_endian, saved
from common import DATA, NAMES, write_safetensors

FOLDER = DATA / "stored_dtypes"

STORED = {
    "i8": torch.int8,
    "i16": torch.int16,
    "u16": torch.uint16,
    "u32": torch.uint32,
    "f8e4m3": torch.float8_e4m3fn,
    "f8e5m2": torch.float8_e5m2,
    "complex64": torch.complex64,
}
EVERY = [*NAMES, *STORED.values()]
NUMPY = [torch.int8, torch.int16, torch.uint16, torch.uint32, torch.complex64]


def name(dtype):
    return str(dtype).removeprefix("torch.")


def raw(tensor):
    """The bytes of the elements in row-major order, so that no reader of the dtype is needed."""
    flat = tensor.resolve_conj().resolve_neg().contiguous().reshape(-1)
    return flat.view(torch.uint8) if flat.numel() else torch.zeros(0, dtype=torch.uint8)


def values(dtype):
    """Numbers near the ends of the dtype, and a few others."""
    if dtype.is_complex:
        return torch.tensor([[1.5 - 2j, -0.0 + 0j, 3e38 + 1e-40j], [complex(0, float("inf")), complex(float("nan"), 1), -7j]])
    if dtype.is_floating_point:
        numbers = torch.tensor([[0.3, -0.0, 300.0], [-1e-2, float("inf"), float("nan")]], dtype=torch.float64)
        return numbers.to(dtype)
    if dtype == torch.bool:
        return torch.tensor([[True, False, True], [False, False, True]])
    info = torch.iinfo(dtype)
    numbers = [[0, 1, info.max], [info.min, info.max - 1, info.max // 3]]
    return torch.tensor(numbers, dtype=torch.int64).to(dtype)


def states():
    """A state for each format."""
    every = {name(dtype): values(dtype) for dtype in EVERY}
    for dtype in STORED.values():
        x = values(dtype)
        every[f"{name(dtype)}.transposed"] = x.t()
        every[f"{name(dtype)}.scalar"] = x[0, 2]
        every[f"{name(dtype)}.empty"] = torch.zeros(0, 2, dtype=dtype)
        every[f"{name(dtype)}.row"] = x[1]
        every[f"{name(dtype)}.tied"] = x[1]
    z = values(torch.complex64)
    lazy = {
        "plain": z,
        "conj": z.conj(),
        "conj.row": z.conj()[1],
        "neg": torch._neg_view(z),
        "conj.neg": torch._neg_view(z.conj()),
    }
    # PyTorch saves no storage as two dtypes.
    parts = {"real": z.real, "imag": z.imag, "conj.imag": z.conj().imag}
    return every, lazy, parts


def files(cases, tensors):
    every, lazy, parts = states()
    contiguous = {key: x.clone(memory_format=torch.contiguous_format) for key, x in every.items()}
    arrays = {key: x.numpy() for key, x in every.items() if x.dtype in NUMPY}
    swapped = {key: x.astype(x.dtype.newbyteorder(">")) for key, x in arrays.items()}
    written = {
        "every.safetensors": (save(contiguous), contiguous),
        "every.pt": (saved(every), every),
        "every.legacy.pt": (saved(every, _use_new_zipfile_serialization=False), every),
        "lazy.pt": (saved(lazy), lazy),
        "parts.pt": (saved(parts), parts),
    }
    for file, named in (("every.npz", arrays), ("swapped.npz", swapped)):
        target = io.BytesIO()
        numpy.savez(target, **named)
        written[file] = (target.getvalue(), {key: every[key] for key in named})
    stored = {name(dtype): values(dtype) for dtype in STORED.values()}
    written["big_endian.pt"] = (swap(saved(stored)), stored)
    for file, (data, state) in written.items():
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / file).write_bytes(data)
        entries = [[key, name(x.dtype), list(x.shape)] for key, x in state.items()]
        cases.append({"file": file, "tensors": entries})
        for key, x in state.items():
            tensors[f"{file}/{key}"] = raw(x)


def swap(source):
    """As a big-endian machine would have written it: the parts of a complex number each."""
    state = torch.load(io.BytesIO(source))
    parts = {key: torch.view_as_real(x) if x.dtype.is_complex else x for key, x in state.items()}
    return big_endian(source, {str(i): x.element_size() for i, x in enumerate(parts.values())})


def casts(cases, tensors):
    # Integers that every dtype of integers wraps, and no number that is too large for all of them, which C leaves open.
    wide = [0, 1, -1, 127, 128, -128, -129, 255, 256, 300, 32767, 32768, -32769, 65535, 65536, 70000, 2**31 - 1, -(2**31)]
    sources = [torch.tensor(wide), torch.tensor(wide, dtype=torch.int32), torch.tensor([2**32 - 1, 2**32, 2**40 + 3])]
    fractions = [0.0, -0.0, 0.5, -0.5, 1.7, -1.7, 126.9, -128.9, 300.2, 40000.5, -70000.9]
    sources += [torch.tensor(fractions, dtype=dtype) for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16)]
    sources += [values(dtype).reshape(-1) for dtype in (torch.uint8, torch.bool, *list(STORED.values())[:4])]
    codes = torch.arange(256, dtype=torch.int32).to(torch.uint8)
    sources += [codes.view(torch.float8_e4m3fn), codes.view(torch.float8_e5m2)]
    # Special values have no place in integers.
    special = [float("inf"), -float("inf"), float("nan"), 448.0, 464.0, 465.0, 480.0, 57344.0, 61439.0, 61440.0, 3e38, 1e-40, -1e-9]
    sources += [torch.tensor(special, dtype=dtype) for dtype in (torch.float32, torch.float64, torch.bfloat16)]
    sources += [values(torch.complex64).reshape(-1)]
    for source in sources:
        whole = not source.is_floating_point() or bool(torch.isfinite(source.float()).all() and source.float().abs().max() < 2**31)
        for to in EVERY:
            stored = to in STORED.values() or source.dtype in STORED.values()
            integers = not (to.is_floating_point or to.is_complex or to == torch.bool)
            lossy = source.dtype.is_complex and to not in (torch.complex64, torch.bool)
            if not stored or source.dtype == to or lossy or (integers and not whole):
                continue
            i = len(cases)
            cases.append({"from": name(source.dtype), "to": name(to)})
            tensors[f"cast/{i}/from"], tensors[f"cast/{i}/to"] = raw(source), raw(source.to(to))
    # Every number of half precision, with all that lies halfway between two of eight bits.
    halves = torch.arange(65536, dtype=torch.int32).to(torch.uint16).view(torch.float16)
    for to in (torch.float8_e4m3fn, torch.float8_e5m2):
        tensors[f"halves/{name(to)}"] = raw(halves.to(to))


def prints(texts, tensors):
    nan, inf = float("nan"), float("inf")
    for label, dtype in STORED.items():
        examples = [values(dtype), values(dtype)[0, 1], torch.zeros(0, dtype=dtype), torch.zeros(2, 0, dtype=dtype)]
        examples += [torch.tensor([[0, 1], [100, 20]]).to(dtype), torch.arange(40).to(dtype), torch.arange(1100).remainder(100).to(dtype)]
        examples += [torch.arange(1200).remainder(7).reshape(30, 40).to(dtype)]
        if dtype.is_floating_point:
            lists = ([0.5, 1.25], [nan, inf], [1e-3, 100.0], [0.0], [1.0, nan])
            examples += [torch.tensor(numbers).to(dtype) for numbers in lists]
        if dtype.is_complex:
            lists = (
                [1 + 2j, -3 - 4j], [0.5 - 1j, 20], [1e-7j, 1], [complex(nan, inf), 1j], [0j], [-0.0 - 0.0j], [1e9 + 1j], [10.25 + 100j, 2 - 3j],
                [complex(inf, -inf), complex(1.5, 2)], [[1 + 1j], [2.5 + 100j]], [complex(1, nan)],
            )
            examples += [torch.tensor(numbers, dtype=dtype) for numbers in lists]
            examples += [torch.tensor(2.5 - 3j), torch.complex(torch.linspace(0, 1, 30), torch.linspace(-100, 5, 30))]
            examples += [torch.complex(torch.arange(1001.0), -torch.arange(1001.0))]
        for x in examples:
            tensors[f"print/{len(texts)}"] = raw(x)
            texts.append({"dtype": name(dtype), "shape": list(x.shape), "text": str(x)})


def write():
    tensors, case = {}, {"files": [], "casts": [], "prints": []}
    files(case["files"], tensors)
    casts(case["casts"], tensors)
    prints(case["prints"], tensors)
    write_safetensors(FOLDER / "expected.safetensors", tensors, case)
    return sum(map(len, case.values()))
