"""Load the shards and the tied file that Rust wrote with Hugging Face's tools, and record the results.

    python check_rust_shards.py        writes rust/sharded.check.json

Needs torch, safetensors and huggingface_hub. The files themselves are written by
`WRITE_GOLDEN=1 cargo test -p module-tests --test state interchange`.
"""

import json
import pathlib
import zlib

import huggingface_hub
import safetensors
import torch
from huggingface_hub import load_torch_model, split_torch_state_dict_into_shards
from safetensors.torch import load_file, load_model
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent / "rust"
SHARDS, FILE = HERE / "sharded", HERE / "tied.safetensors"
SHARD_SIZE = 60
TIES = {"decoder.weight": "encoder.weight"}
SHAPES = {
    "encoder.weight": (torch.float32, [6, 4]),
    "encoder.bias": (torch.float32, [6]),
    "wide": (torch.float64, [3, 2]),
    "narrow": (torch.float16, [5]),
    "brief": (torch.bfloat16, [2, 2, 2]),
    "steps": (torch.int64, []),
    "whole": (torch.int32, [3]),
    "byte": (torch.uint8, [0, 4]),
    "mask": (torch.bool, [3]),
}


class Twin(nn.Module):
    """A model of these keys, whose decoder is tied to its encoder."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 6)
        for key, (dtype, shape) in SHAPES.items():
            if "." not in key:
                self.register_buffer(key, torch.zeros(shape, dtype=dtype))
        self.register_buffer("transposed", torch.zeros([2, 3], dtype=torch.float64))
        self.decoder = nn.Linear(4, 6, bias=False)
        self.decoder.weight = self.encoder.weight


def expected():
    """Element j of tensor k is (17 k + j) mod 251."""
    state = {}
    for k, (key, (dtype, shape)) in enumerate(SHAPES.items()):
        numbers = (17 * k + torch.arange(torch.Size(shape).numel())).remainder(251)
        state[key] = numbers.reshape(shape).to(dtype)
    for dropped, kept in TIES.items():
        state[dropped] = state[kept]
    state["transposed"] = state["wide"].t().contiguous()
    return state


def check(what, found, state):
    assert found.keys() == state.keys(), (what, found.keys() ^ state.keys())
    for key, value in state.items():
        assert found[key].dtype == value.dtype and torch.equal(found[key], value), (what, key)


def main():
    state = expected()
    once = {key: value for key, value in state.items() if key not in TIES}

    # The file: one copy of what is tied, which safetensors' own loader puts under both names.
    check("tied file", load_file(FILE), once)
    model = Twin()
    missing, unexpected = load_model(model, FILE, strict=True)
    assert not missing and not unexpected
    check("load_model", model.state_dict(), state)

    # The shards: the index names exactly what they hold.
    index = json.loads((SHARDS / "model.safetensors.index.json").read_text())
    held = {}
    for name in sorted(set(index["weight_map"].values())):
        shard = load_file(SHARDS / name)
        assert {key for key, file in index["weight_map"].items() if file == name} == set(shard)
        held |= shard
    check("shards", held, once)
    assert {key: index["metadata"][key] for key in TIES} == TIES

    # The hub's loader, which leaves tied names to the model.
    model = Twin()
    missing, unexpected = load_torch_model(model, SHARDS)
    assert set(missing) == set(TIES) and not unexpected
    check("load_torch_model", model.state_dict(), state)

    # The hub's own division of these tensors.
    split = split_torch_state_dict_into_shards(once, max_shard_size=SHARD_SIZE)
    files = sorted(path for path in [FILE, *SHARDS.iterdir()])
    record = {
        "torch": torch.__version__.split("+")[0],
        "safetensors": safetensors.__version__,
        "huggingface_hub": huggingface_hub.__version__,
        "files": {
            str(path.relative_to(HERE)): [path.stat().st_size, zlib.adler32(path.read_bytes())] for path in files
        },
        "hub": {"weight_map": split.tensor_to_filename, "total_size": split.metadata["total_size"]},
        "keys": [[key, list(v.shape), str(v.dtype).removeprefix("torch.")] for key, v in state.items()],
    }
    (HERE / "sharded.check.json").write_text(json.dumps(record) + "\n")
    print(f"{len(files)} files load")


if __name__ == "__main__":
    main()
