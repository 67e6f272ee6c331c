"""pytorch_digits*.safetensors: the example's network as PyTorch initializes, saves and runs it."""

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from common import DATA, write_safetensors
from digits_torch import Digits, load_data

WIDTH = 8


def write():
    """The file that PyTorch users would write, and beside it what the network computes."""
    torch.manual_seed(0)
    model = Digits(WIDTH)
    state = model.state_dict()
    # One metadata key only: the library does not promise an order of several.
    save_file(state, DATA / "pytorch_digits.safetensors", metadata={"format": "pt"})
    images, labels = load_data()
    x, y = images[:16].clone(), labels[:16].clone()
    tensors = {"input": x, "labels": y}
    with torch.no_grad():
        tensors["logits_eval"] = model.eval()(x)
    model.train()
    torch.manual_seed(0)
    logits = model(x)
    loss = F.cross_entropy(logits, y, label_smoothing=0.1)
    loss.backward()
    tensors |= {"logits_train": logits.detach(), "loss": loss.detach()}
    tensors |= {f"grad.{key}": p.grad for key, p in model.named_parameters()}
    tensors |= {f"buffer_after.{key}": b for key, b in model.named_buffers()}
    case = {
        "class": "Digits",
        "kwargs": {"width": WIDTH, "dropout": 0.1},
        "seed": 0,
        "label_smoothing": 0.1,
        "keys": list(state),
        "repr": repr(model),
        "note": "logits_train: torch.manual_seed(0) right before the forward pass in train mode",
    }
    write_safetensors("pytorch_digits_expected.safetensors", tensors, case)
    return 2
