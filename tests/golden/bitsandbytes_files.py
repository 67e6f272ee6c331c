"""bitsandbytes/: layers of bitsandbytes in safetensors files, with the keys that Hugging Face's tools write, and the values that it
reads."""

import importlib.metadata
import warnings

import torch
from safetensors.torch import save_file

from common import DATA, write_safetensors

FOLDER = DATA / "bitsandbytes"

# The name, the rows and columns, and the arguments.
LAYERS = [
    ("nf4", (130, 130), {}),
    ("nf4_plain", (24, 40), {"compress_statistics": False}),
    ("fp4", (130, 130), {"quant_type": "fp4"}),
    ("fp4_plain", (24, 40), {"quant_type": "fp4", "compress_statistics": False}),
    ("nf4_bf16", (24, 40), {"dtype": torch.bfloat16}),
    ("nf4_f16", (24, 40), {"dtype": torch.float16}),
    ("nf4_odd", (5, 13), {}),
    ("nf4_wide", (16, 100), {"blocksize": 128}),
]


def layer(shape, quant_type="nf4", compress_statistics=True, dtype=torch.float32, blocksize=64):
    import bitsandbytes as bnb

    rows, columns = shape
    linear = bnb.nn.Linear4bit(columns, rows, bias=True, compress_statistics=compress_statistics, quant_type=quant_type)
    weight = torch.randn(rows, columns).to(dtype)
    weight[0] = 0
    weight[1, :3] = torch.tensor([8.0, -5.0, 1e-3])
    linear.weight = bnb.nn.Params4bit(
        weight, requires_grad=False, compress_statistics=compress_statistics, quant_type=quant_type, blocksize=blocksize
    )
    linear.bias = torch.nn.Parameter(torch.randn(rows).to(dtype))
    return weight, linear.to("cpu")


def write():
    import bitsandbytes.functional as functional

    warnings.simplefilter("ignore")
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    model, expected, case = torch.nn.Module(), {}, {"bitsandbytes": importlib.metadata.version("bitsandbytes"), "layers": []}
    for name, shape, arguments in LAYERS:
        weight, linear = layer(shape, **arguments)
        model.add_module(name, linear)
        state = linear.weight.quant_state
        values = functional.dequantize_4bit(linear.weight.data, state)
        assert values.dtype == weight.dtype and values.shape == weight.shape
        expected[name] = values
        if name != "fp4":
            expected[f"{name}/from"] = weight
        case["layers"].append([name, str(weight.dtype).removeprefix("torch."), list(shape)])
    state = {key: value.contiguous() for key, value in model.state_dict().items()}
    save_file(state, FOLDER / "layers.safetensors", metadata={"format": "pt"})
    (FOLDER / "layers.safetensors").chmod(0o644)
    write_safetensors(FOLDER / "expected.safetensors", expected, case)
    return len(LAYERS)
