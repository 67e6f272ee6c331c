"""models/unet and models/unet_bilinear: milesial's classes with a sixty-fourth of the channels."""

import torch

from common import random
from published import definitions, move, record, save

# Sizes are odd somewhere on the way down; the seeds are of inputs by which PyTorch itself rounds little in f32.
CASES = [("unet", False, 3), ("unet_bilinear", True, 10)]


def write():
    total = 0
    for name, bilinear, seed in CASES:
        torch.manual_seed(0)
        parts = definitions("Pytorch-UNet/unet/unet_parts.py", {}, width=64)
        model = move(definitions("Pytorch-UNet/unet/unet_model.py", parts, width=64)["UNet"](3, 2, bilinear))
        save(name, model, {"n_channels": 3, "n_classes": 2, "bilinear": bilinear, "width": 1}, "unet.pth")
        total += record(name, model, [random([2, 3, 33, 34], seed)], gradients=["train"])
    return total
