"""gguf/: files of llama.cpp's package gguf, the values that it reads from their blocks, and how it and ggml itself quantize.

The package quantizes to Q8_0 and Q4_0. The search for the scales of Q4_K and Q6_K exists only in ggml's own library,
a build of which comes with pywhispercpp (`libggml-base.so`).
"""

import ctypes
import importlib.metadata
import struct

import gguf
import numpy
import torch
from gguf import GGMLQuantizationType as Type
from gguf import GGUFValueType as Kind

from common import DATA, write_safetensors

FOLDER = DATA / "gguf"
# The names of ggml's functions, and the elements of a block.
BLOCKS = {Type.Q8_0: ("q8_0", 32), Type.Q4_0: ("q4_0", 32), Type.Q4_K: ("q4_K", 256), Type.Q6_K: ("q6_K", 256)}


def ggml():
    files = importlib.metadata.files("pywhispercpp")
    return ctypes.CDLL(next(str(file.locate()) for file in files if file.name == "libggml-base.so"))


def quantize(x, kind):
    """The bytes that ggml's reference makes of rows; those of the package must be the same where it has them."""
    x = numpy.ascontiguousarray(x, numpy.float32)
    shape = gguf.quants.quant_shape_to_byte_shape(x.shape, kind)
    out = numpy.zeros(shape, numpy.uint8)
    function = getattr(ggml(), f"quantize_row_{BLOCKS[kind][0]}_ref")
    function(x.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(x.size))
    try:
        assert numpy.array_equal(gguf.quants.quantize(x, kind), out), kind
    except NotImplementedError:
        pass
    return out


def dequantize(data, kind):
    """What the package reads, which must be what ggml reads."""
    values = gguf.quants.dequantize(data, kind)
    out = numpy.zeros_like(values)
    function = getattr(ggml(), f"dequantize_row_{BLOCKS[kind][0]}")
    function(data.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(out.size))
    assert numpy.array_equal(values, out), kind
    return values


METADATA = [
    ("general.name", Kind.STRING, "a model, \u00e9t\u00e9"),
    ("x.u8", Kind.UINT8, 255),
    ("x.i8", Kind.INT8, -128),
    ("x.u16", Kind.UINT16, 65535),
    ("x.i16", Kind.INT16, -32768),
    ("x.u32", Kind.UINT32, 2**32 - 1),
    ("x.i32", Kind.INT32, -(2**31)),
    ("x.f32", Kind.FLOAT32, 0.1),
    ("x.bool", Kind.BOOL, True),
    ("x.u64", Kind.UINT64, 2**64 - 1),
    ("x.i64", Kind.INT64, -(2**63)),
    ("x.f64", Kind.FLOAT64, 0.1),
    ("x.empty", Kind.STRING, ""),
]
ARRAYS = [
    ("tokens", Kind.STRING, ["<s>", "", "\u4f60", "a b"]),
    ("scores", Kind.FLOAT32, [0.5, -1.25, 0.0]),
    ("types", Kind.INT32, [1, -2, 3]),
    ("bytes", Kind.UINT8, [0, 255]),
    ("truths", Kind.BOOL, [True, False]),
    ("wide", Kind.UINT64, [2**64 - 1, 0]),
]


def named(writer):
    for key, kind, value in METADATA:
        writer.add_key_value(key, value, kind)
    for key, kind, value in ARRAYS:
        writer.add_key_value(key, value, Kind.ARRAY, sub_type=kind)
    writer.add_key_value("nested", [[1, 2], [3]], Kind.ARRAY)


def plain():
    generator = numpy.random.default_rng(0)
    x = generator.standard_normal((2, 3)).astype(numpy.float32)
    yield "f32", x, Type.F32
    yield "f32.four", generator.standard_normal((2, 1, 3, 2)).astype(numpy.float32), Type.F32
    yield "f32.one", x[0], Type.F32
    yield "f16", x.astype(numpy.float16), Type.F16
    yield "bf16", gguf.quants.quantize(x, Type.BF16), Type.BF16
    yield "f64", x.astype(numpy.float64), Type.F64
    for bits in (8, 16, 32, 64):
        ends = numpy.iinfo(f"int{bits}")
        yield f"i{bits}", numpy.array([[ends.min, -1, ends.max]], f"int{bits}"), Type[f"I{bits}"]


def blocks():
    generator = numpy.random.default_rng(1)
    for kind, (name, numel) in BLOCKS.items():
        x = generator.standard_normal((3, 2 * numel)).astype(numpy.float32)
        yield name.lower(), quantize(x, kind), kind
        # Every byte there is, but for scales that are not numbers.
        raw = generator.integers(0, 256, quantize(x, kind).shape, numpy.uint8)
        size = gguf.GGML_QUANT_SIZES[kind][1]
        for start in range(0, raw.shape[1], size):
            for place in {Type.Q6_K: [208], Type.Q4_K: [0, 2]}.get(kind, [0]):
                halves = generator.uniform(-2, 2, len(raw)).astype(numpy.float16)
                raw[:, start + place : start + place + 2] = halves.view(numpy.uint8).reshape(-1, 2)
        yield f"{name.lower()}.any", raw, kind


def write_file(name, tensors, expected, alignment=None, version=3, metadata=False):
    path = FOLDER / name
    writer = gguf.GGUFWriter(path, "test")
    if metadata:
        named(writer)
    if alignment:
        writer.add_custom_alignment(alignment)
    entries = []
    for key, data, kind in tensors:
        writer.add_tensor(key, data, raw_dtype=kind)
        if kind in BLOCKS:
            values = dequantize(data, kind)
        elif kind == Type.BF16:
            values = gguf.quants.dequantize(data, kind)
        else:
            values = data
        entries.append([key, kind.name, list(values.shape)])
        expected[f"{name}/{key}"] = torch.from_numpy(numpy.ascontiguousarray(values)).reshape(-1).view(torch.uint8)
        expected[f"{name}/{key}/bytes"] = torch.from_numpy(numpy.ascontiguousarray(data)).reshape(-1).view(torch.uint8)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if version != 3:
        data = bytearray(path.read_bytes())
        data[4:8] = struct.pack("<I", version)
        path.write_bytes(data)
    return {"file": name, "alignment": alignment, "tensors": entries}


def sources():
    """Rows that the search of scales treats differently."""
    generator = numpy.random.default_rng(2)
    normal = generator.standard_normal((2, 512))
    yield normal
    yield generator.uniform(-1, 1, (2, 512))
    yield numpy.abs(normal) + 0.5
    yield -numpy.abs(normal) - 0.5
    outliers = normal.copy()
    outliers[:, ::37] *= 30
    yield outliers
    steps = numpy.repeat(normal[:, ::32], 32, axis=1)
    steps[0, :256] = 0
    yield steps
    yield normal * 1e-4
    yield normal * 1e3
    yield numpy.where(generator.random((2, 512)) < 0.8, 0, normal)
    yield numpy.round(normal * 2) / 2
    yield generator.standard_normal((8, 512)) * generator.uniform(0.01, 3, (8, 1))


def write():
    FOLDER.mkdir(parents=True, exist_ok=True)
    expected, case = {}, {"gguf": importlib.metadata.version("gguf"), "files": []}
    case["metadata"] = [[key, kind.name, value] for key, kind, value in METADATA]
    case["arrays"] = [[key, kind.name, value] for key, kind, value in ARRAYS]
    files = case["files"]
    files.append(write_file("plain.gguf", plain(), expected, metadata=True))
    files.append(write_file("blocks.gguf", blocks(), expected))
    files.append(write_file("aligned.gguf", list(plain())[:4], expected, alignment=128))
    files.append(write_file("version2.gguf", list(blocks())[:3], expected, version=2))
    files.append(write_file("nothing.gguf", [], expected, metadata=True))
    case["quantized"] = 0
    for i, x in enumerate(sources()):
        x = x.astype(numpy.float32)
        expected[f"quantized/{i}"] = torch.from_numpy(x)
        for kind, (name, _) in BLOCKS.items():
            expected[f"quantized/{i}/{name.lower()}"] = torch.from_numpy(quantize(x, kind))
        case["quantized"] += 1
    write_safetensors(FOLDER / "expected.safetensors", expected, case)
    return len(files) + case["quantized"]
