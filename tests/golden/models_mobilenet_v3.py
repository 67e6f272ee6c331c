"""models/mobilenet_v3: torchvision's with few channels and blocks; mobilenet_v3_first.pth has its weights right after `manual_seed(0)`."""

import torch
from torchvision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3

from common import random
from published import MODELS, move, record, save

# input, kernel, expanded, output, squeeze and excitation, activation, stride, dilation
BLOCKS = [
    (8, 3, 8, 8, True, "RE", 2, 1),
    (8, 3, 16, 8, False, "RE", 1, 1),
    (8, 5, 24, 16, True, "HS", 2, 1),
    (16, 5, 24, 16, True, "HS", 1, 2),
]


def write():
    torch.manual_seed(0)
    blocks = [InvertedResidualConfig(*block, width_mult=1.0) for block in BLOCKS]
    arguments = {"last_channel": 10, "num_classes": 3, "dropout": 0.2}
    model = MobileNetV3(blocks, **arguments)
    torch.save(model.state_dict(), MODELS / "mobilenet_v3_first.pth")
    move(model)
    config = {"inverted_residual_setting": [vars(block) for block in blocks], **arguments}
    save("mobilenet_v3", model, config, "mobilenet_v3.pth")
    return record("mobilenet_v3", model, [random([3, 3, 37, 34], 1)])
