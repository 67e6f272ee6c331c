"""Load the file that Rust wrote into the PyTorch twin, strictly, and record the results.

    python check_rust_file.py          writes rust/digits.check.json next to the file

The file itself is written by `WRITE_GOLDEN=1 cargo test -p module-tests --test state interchange`.
"""

import json
import pathlib
import zlib

import torch
from safetensors.torch import load_file

from digits_torch import Digits

FILE = pathlib.Path(__file__).resolve().parent / "rust" / "digits.safetensors"
WIDTH = 4


def main():
    torch.set_num_threads(1)
    state, model = load_file(FILE), Digits(WIDTH)
    model.load_state_dict(state, strict=True)
    for key, value in model.state_dict().items():
        assert state[key].dtype == value.dtype, f"{key}: {state[key].dtype} instead of {value.dtype}"
        assert torch.equal(state[key], value), key
    pixels = torch.arange(8 * 64).remainder(17).float() / 16
    with torch.no_grad():
        logits = model.eval()(pixels.reshape(8, 1, 8, 8))
    data = FILE.read_bytes()
    record = {
        "torch": torch.__version__.split("+")[0],
        "bytes": len(data),
        "adler32": zlib.adler32(data),
        "keys": [[key, list(v.shape), str(v.dtype).removeprefix("torch.")] for key, v in model.state_dict().items()],
        "logits": logits.tolist(),
    }
    FILE.with_suffix(".check.json").write_text(json.dumps(record) + "\n")
    print(f"{len(state)} keys load strictly")


if __name__ == "__main__":
    main()
