"""Read quantized files written by Rust, using llama.cpp's package and bitsandbytes, and record the results.

    python check_rust_gguf.py          writes rust/every.check.json and rust/bitsandbytes.check.json

The files themselves are written by `WRITE_GOLDEN=1 cargo test -p module-tests --test state -- gguf_files bitsandbytes_files`.
"""

import json
import pathlib
import zlib

import gguf
import numpy
import torch
from safetensors.torch import load_file

from common import DATA

FOLDER = pathlib.Path(__file__).resolve().parent / "rust"


def read_gguf(path):
    reader = gguf.GGUFReader(path)
    metadata = [[key, field.contents()] for key, field in reader.fields.items() if not key.startswith("GGUF.")]
    tensors = []
    for tensor in reader.tensors:
        kind = tensor.tensor_type
        values = tensor.data
        if kind.name.startswith("Q") or kind.name == "BF16":
            values = gguf.quants.dequantize(values, kind)
        values = numpy.ascontiguousarray(values).reshape([int(size) for size in reversed(tensor.shape)])
        tensors.append([tensor.name, kind.name, list(values.shape), zlib.adler32(values.tobytes())])
    data = path.read_bytes()
    record = {"adler32": zlib.adler32(data), "metadata": metadata, "tensors": tensors}
    path.with_suffix(".check.json").write_text(json.dumps(record) + "\n")
    print(f"{len(tensors)} tensors of {path.name}")


def read_bitsandbytes(path):
    import bitsandbytes as bnb

    state, expected = load_file(path), load_file(DATA / "bitsandbytes" / "expected.safetensors")
    layers = []
    for key in sorted(key for key in state if key.endswith(".weight")):
        parts = {part: value for part, value in state.items() if part.startswith(f"{key}.")}
        weight = bnb.nn.Params4bit.from_prequantized(state[key], parts, device="cpu")
        values = bnb.functional.dequantize_4bit(weight.data, weight.quant_state)
        assert torch.equal(values, expected[key.removesuffix(".weight")]), key
        layers.append(key)
    record = {"adler32": zlib.adler32(path.read_bytes()), "layers": layers}
    path.with_suffix(".check.json").write_text(json.dumps(record) + "\n")
    print(f"{len(layers)} weights of {path.name}")


if __name__ == "__main__":
    read_gguf(FOLDER / "every.gguf")
    read_bitsandbytes(FOLDER / "bitsandbytes.safetensors")
