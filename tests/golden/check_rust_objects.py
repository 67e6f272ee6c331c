"""Read the objects that Rust wrote in the format of `torch.save`, and compare each.

    python check_rust_objects.py    writes rust/objects.check.json next to the file

The file itself is written by `WRITE_GOLDEN=1 cargo test -p module-tests --test state torch_objects`.
"""

import json
import math
import pathlib
import zlib

import torch

FILE = pathlib.Path(__file__).resolve().parent / "rust" / "objects.pt"


def main():
    whole = torch.load(FILE, weights_only=True)
    mapped = torch.load(FILE, weights_only=True, mmap=True)
    tensors = whole.pop("tensors")
    base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    named = {"tie": base, "tied": base, "transposed": base.t(), "expanded": base[1:2].expand(2, 4)}
    named |= {"scalar": torch.tensor(7), "empty": torch.zeros(3, 0, 2, dtype=torch.float64), "complex64": torch.tensor([1 - 2j])}
    for name, found in tensors.items():
        expected = named[name] if name in named else base[:1].to(getattr(torch, name))
        for tensor in (found, mapped["tensors"][name]):
            assert tensor.dtype == expected.dtype and tensor.shape == expected.shape, name
            assert torch.equal(tensor.to(torch.complex128), expected.to(torch.complex128)), name
            assert tensor.data_ptr() % 64 == 0 or tensor is found, name
    assert tensors["tie"].data_ptr() == tensors["tied"].data_ptr()
    assert math.copysign(1, whole["floats"][1]) == -1
    assert whole == {
        "ints": [0, 255, 256, -1, 70000, -(2**31), 2**40, 2**63 - 1, -(2**63)],
        "floats": [0.1, -0.0, math.inf, 1e-300],
        "texts": ["", "größer\n", "x" * 300],
        "tuple": (None, True, False),
        "none": (),
        "lists": [[], [{}]],
        "keys": {3: "int", (1, "b"): "tuple"},
    }, whole
    data = FILE.read_bytes()
    record = {"torch": torch.__version__.split("+")[0], "bytes": len(data), "crc32": zlib.crc32(data), "tensors": len(tensors)}
    FILE.with_suffix(".check.json").write_text(json.dumps(record) + "\n")
    print(f"{len(tensors)} tensors and {len(whole)} other objects are what was written")


if __name__ == "__main__":
    main()
