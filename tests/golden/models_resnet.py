"""models/resnet18 and models/resnet50: timm's ResNets with few channels; the keys are torchvision's too."""

import timm
import torch
from timm.models._hub import save_for_hf

from common import random
from published import MODELS, move, record

# Blocks of both kinds; the second has all 50 layers.
CASES = [
    ("resnet18", {"channels": [2, 4, 3, 5], "num_classes": 3}),
    ("resnet50", {"channels": [2, 3, 4, 3], "num_classes": 3}),
]


def write():
    total = 0
    for name, arguments in CASES:
        torch.manual_seed(0)
        model = move(timm.create_model(name, **arguments))
        save_for_hf(model, MODELS / name, safe_serialization=True)
        total += record(name, model, [random([3, 3, 33, 38], 4)])
    return total
