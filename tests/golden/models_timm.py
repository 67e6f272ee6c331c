"""models/convnext_tiny and models/vit_tiny: timm's with few channels and blocks."""

import timm
import torch
from timm.models._hub import save_for_hf

from common import random
from published import MODELS, move, record

CASES = [
    ("convnext_tiny", {"depths": [1, 2, 1, 1], "dims": [4, 6, 8, 5], "num_classes": 3}, [2, 3, 37, 42]),
    ("vit_tiny_patch16_224", {"img_size": 12, "patch_size": 4, "embed_dim": 12, "depth": 2, "num_heads": 3, "num_classes": 3}, [2, 3, 12, 12]),
]


def write():
    total = 0
    for architecture, arguments, shape in CASES:
        name = architecture.split("_patch")[0]
        torch.manual_seed(0)
        model = move(timm.create_model(architecture, **arguments))
        save_for_hf(model, MODELS / name, safe_serialization=True)
        # Nothing differs between training and evaluation.
        total += record(name, model, [random(shape, 1)], modes=["eval"])
    return total
