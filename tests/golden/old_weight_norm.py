"""old_weight_norm.pt, old_weight_norm.safetensors: a state dict with the keys of the older `torch.nn.utils.weight_norm`."""

import io
import warnings

import torch
from torch import nn
from torch.nn.utils import weight_norm

from common import DATA, write_safetensors


def model():
    return nn.Sequential(
        weight_norm(nn.Conv1d(2, 3, 2)),
        nn.Flatten(),
        nn.Sequential(weight_norm(nn.Linear(9, 4, bias=False), dim=1)),
        weight_norm(nn.Linear(4, 2), dim=None),
    )


def write():
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        net = model()
    with torch.no_grad():
        # Lengths other than those of the directions.
        for name, parameter in net.named_parameters():
            if name.endswith("_g"):
                parameter.mul_(torch.rand_like(parameter) + 0.5)
    state = net.state_dict()
    assert {"0.weight_g", "0.weight_v", "2.0.weight_g", "3.weight_g"} <= set(state), list(state)
    file = io.BytesIO()
    torch.save(state, file)
    (DATA / "old_weight_norm.pt").write_bytes(file.getvalue())
    x = torch.randn(5, 2, 4)
    write_safetensors("old_weight_norm.safetensors", {"in": x, "out": net(x)}, [])
    return 1
