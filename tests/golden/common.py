"""Helpers shared by the generators: writing files, making inputs, memory layouts."""

import json
import pathlib
import struct

import numpy
import torch

DATA = pathlib.Path(__file__).resolve().parent / "data"

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "u8": torch.uint8,
    "bool": torch.bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}

# The names of dtypes in safetensors.
TAGS = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


def compact(value):
    """JSON without spaces; NaN and infinity are refused, so that any reader can parse it."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def torch_version():
    """The release that wrote the data, without the build suffix."""
    return torch.__version__.split("+")[0]


def tensor_bytes(tensor):
    """Row-major little-endian bytes of a tensor of any dtype."""
    flat = tensor.detach().contiguous().reshape(-1)
    if flat.numel() == 0:
        return b""
    return flat.view(torch.uint8).numpy().tobytes()


def write_safetensors(path, tensors, case):
    """Write one file with the metadata `torch` and `case`.

    The library's own writer does not promise an order of the metadata keys, so the bytes are laid
    out here: tensors by descending alignment, then by name, as the library does.
    """
    header = {
        "__metadata__": {"format": "pt", "torch": torch_version(), "case": compact(case)}
    }
    body, offset = [], 0
    for name in sorted(tensors, key=lambda name: (-tensors[name].element_size(), name)):
        tensor = tensors[name]
        if tensor.dtype not in TAGS:
            raise ValueError(f"{path}: {name}: {tensor.dtype} is not recorded; store a copy as one of {', '.join(NAMES.values())}")
        data = tensor_bytes(tensor)
        header[name] = {
            "dtype": TAGS[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(data)],
        }
        body.append(data)
        offset += len(data)
    text = compact(header).encode()
    text += b" " * (-len(text) % 8)
    path = DATA / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(body))


def write_json(path, value):
    """Write JSON, one case on a line, with the version of torch beside the cases."""
    path = DATA / path
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(compact(case) for case in value)
    path.write_text(f'{{"torch":"{torch_version()}","cases":[\n{lines}\n]}}\n')


def random(shape, seed, dtype=torch.float32, low=-2.0, high=2.0):
    """Uniform numbers rounded to 1/256, so that every dtype but bf16 holds them exactly.

    NumPy's generator keeps the inputs apart from the streams of `torch.manual_seed` under test.
    """
    values = numpy.random.RandomState(seed).uniform(low, high, size=tuple(shape))
    return torch.tensor(numpy.round(values * 256) / 256, dtype=torch.float64).to(dtype)


def integers(shape, seed, low, high):
    """Uniform int64 in low..high, the upper end excluded."""
    return torch.tensor(numpy.random.RandomState(seed).randint(low, high, size=tuple(shape)))


def lay_out(values, layout):
    """Rebuild `values` with the memory layout that a case names.

    contiguous       as it is
    transposed:a,b   dimensions a and b swapped in memory
    narrowed:d       cut out of a tensor three longer along d, from index 1
    strided:d        every second element along d of a tensor twice as long
    expanded:d       one slice repeated along d with stride 0 (the values repeat)
    """
    kind, _, rest = layout.partition(":")
    if kind == "contiguous":
        return values.clone(memory_format=torch.contiguous_format)
    if kind == "transposed":
        a, b = map(int, rest.split(","))
        return values.transpose(a, b).contiguous().transpose(a, b)
    dim = int(rest)
    shape = list(values.shape)
    if kind == "expanded":
        return values.narrow(dim, 0, 1).contiguous().expand(shape)
    size = shape[dim]
    shape[dim] = size + 3 if kind == "narrowed" else 2 * size
    base = torch.zeros(shape, dtype=values.dtype)
    if kind == "narrowed":
        view = base.narrow(dim, 1, size)
    elif kind == "strided":
        view = base[(slice(None),) * (dim % len(shape)) + (slice(None, None, 2),)]
    else:
        raise ValueError(layout)
    view.copy_(values)
    return view


def leaf(values, layout="contiguous"):
    """A tensor with that layout that collects its own gradient (if its dtype can have one)."""
    view = lay_out(values, layout).detach()
    return view.requires_grad_() if view.is_floating_point() else view
