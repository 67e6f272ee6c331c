"""Load the optimizers that Rust wrote, resume in PyTorch, and record how far the parameters are from PyTorch's own run.

    python check_rust_optimizers.py    writes rust/optimizers.check.json next to the file

The file itself is written by `WRITE_GOLDEN=1 cargo test -p module-tests --test training torch_optimizers`.
"""

import json
import pathlib
import zlib

import torch
from safetensors import safe_open

from common import DATA, DTYPES
from torch_optimizers import CASES, SAVED, STEPS, build, set_gradients

FILE = pathlib.Path(__file__).resolve().parent / "rust" / "optimizers.pt"
CLOSE = {torch.float32: 1e-5, torch.float64: 1e-12}


def main():
    torch.set_num_threads(1)
    # Nothing in it may need more than this accepts.
    whole = torch.load(FILE, weights_only=True)
    with safe_open(DATA / "torch_optimizers" / "runs.safetensors", "pt") as file:
        recorded = {key: file.get_tensor(key) for key in file.keys()}
    grads = {key.removeprefix("grads."): value for key, value in recorded.items() if key.startswith("grads.")}
    cases = []
    for name, optimizer, kwargs, groups, dtype in CASES:
        saved = whole[name]
        params = {path: value.clone().requires_grad_() for path, value in saved["model"].items()}
        assert all(p.dtype == DTYPES[dtype] for p in params.values()), name
        # Other options than those of the file, which load_state_dict replaces.
        other = [(paths, {}) for paths, _ in groups] if groups else None
        opt = build(optimizer, {"lr": 0.3}, other, params)
        opt.load_state_dict(saved["optimizer"])
        for step in range(SAVED, STEPS):
            set_gradients(params, grads, step)
            opt.step()
        furthest = 0.0
        for path, p in params.items():
            after = recorded[f"{name}/after.{path}"]
            scale = max(after.abs().max().item(), 1e-3)
            furthest = max(furthest, (p.detach() - after).abs().max().item() / scale)
        assert furthest <= CLOSE[DTYPES[dtype]], f"{name}: {furthest}"
        cases.append([name, furthest])
    data = FILE.read_bytes()
    record = {"torch": torch.__version__.split("+")[0], "bytes": len(data), "adler32": zlib.adler32(data), "cases": cases}
    FILE.with_suffix(".check.json").write_text(json.dumps(record) + "\n")
    print(f"{len(cases)} optimizers go on; the furthest is {max(c[1] for c in cases):.1e} away")


if __name__ == "__main__":
    main()
