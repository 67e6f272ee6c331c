"""resnet.json: torchvision's ResNet-18 right after `manual_seed(0)` and its constructor. Needs torchvision 0.29."""

import zlib

import torch
import torchvision

from common import tensor_bytes, write_json

SHAPE = [2, 3, 40, 33]


def write():
    torch.manual_seed(0)
    net = torchvision.models.resnet18(weights=None)
    following = torch.rand(3)
    net.eval()
    torch.manual_seed(1)
    with torch.no_grad():
        logits = net(torch.rand(SHAPE))
    cases = [{"seed": 0, "next_rand": following.tolist(), "input_seed": 1, "input_shape": SHAPE,
              "logits": logits[:, :8].tolist()}]
    for key, value in net.state_dict().items():
        data = tensor_bytes(value)
        case = {"key": key, "shape": list(value.shape), "crc32": zlib.crc32(data)}
        if value.dtype == torch.float32:
            # The bits of the leading numbers show where a mistake begins; the checksum covers all.
            case["first"] = value.reshape(-1)[:4].view(torch.int32).tolist()
        cases.append(case)
    write_json("resnet.json", cases)
    return len(cases)
