"""Load adapters written by Rust into PEFT, and record how far its outputs are from those of Rust.

    python check_rust_adapters.py           writes rust/peft/check.json
    python check_rust_adapters.py FOLDER    checks the adapters in another folder, and writes nothing

The folders themselves, and `outputs.safetensors` next to them, are written by
`WRITE_GOLDEN=1 cargo test -p module-tests --test training peft::written`.
"""

import json
import pathlib
import sys
import warnings
import zlib

import peft
import torch
from peft import PeftModel, get_peft_model_state_dict
from safetensors.torch import load_file

from peft_files import base

OWN = pathlib.Path(__file__).resolve().parent / "rust" / "peft"
FILES = ["adapter_config.json", "adapter_model.safetensors"]
KINDS = {"conv2d": "images", "conv1d": "signals", "attention": "signals", "recurrent": "readings"}


def check(folder, name, outputs):
    """How far the output is, once every tensor has been taken up under its key."""
    kind = next((kind for start, kind in KINDS.items() if name.startswith(start)), "transformer")
    model = PeftModel.from_pretrained(base(kind), folder / name).eval()
    written, read = load_file(folder / name / FILES[1]), get_peft_model_state_dict(model)
    # PEFT writes the bias of a copied module a second time.
    keys = {key for key in read if ".modules_to_save." not in key}
    assert keys == set(written), f"{name}: {sorted(keys ^ set(written))}"
    for key, value in written.items():
        assert torch.equal(read[key], value), f"{name}: {key}"
    input, output = outputs[f"input.{kind}"], outputs[f"output.{name}"]
    with torch.no_grad():
        far = (model(input) - output).abs().max().item()
        moved = (base(kind)(input) - output).abs().max().item()
    assert far < 1e-5 < moved, f"{name}: {far}"
    return far


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else OWN
    outputs = load_file(folder / "outputs.safetensors")
    cases = []
    for name in sorted(key.removeprefix("output.") for key in outputs if key.startswith("output.")):
        sums = {file: zlib.adler32((folder / name / file).read_bytes()) for file in FILES}
        cases.append({"name": name, "furthest": check(folder, name, outputs), "adler32": sums})
    if folder == OWN:
        record = {"torch": torch.__version__.split("+")[0], "peft": peft.__version__, "cases": cases}
        (folder / "check.json").write_text(json.dumps(record) + "\n")
    print(f"{len(cases)} adapters answer; the furthest is {max(case['furthest'] for case in cases):.1e} away")


if __name__ == "__main__":
    main()
