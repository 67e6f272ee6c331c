"""quantize.safetensors: weights that PyTorch's observers and bitsandbytes quantize, and outputs of `quantize_dynamic`.

`case` is `{"int8", "grouped", "int4", "nf4", "dynamic"}`; README.md says which tensors belong to each.
"""

import json

import torch
from bitsandbytes import functional as bnb
from torch.ao.quantization import PerChannelMinMaxObserver, quantize_dynamic
from torch.ao.quantization.qconfig import per_channel_dynamic_qconfig

from common import random, write_safetensors

GROUP = 32


def weights():
    """A plain matrix; one with a row of zeros, an outlier and tiny numbers; one whose rows are not whole blocks."""
    plain = random([24, 128], 700, torch.float32, -1.0, 1.0)
    edges = random([6, 64], 701, torch.float32, -0.5, 2.0)
    edges[1] = 0.0
    edges[2, 5] = 40.0
    edges[3] *= 1e-9
    edges[4] = edges[4].abs()
    return {"plain": plain, "edges": edges}


def observed(w, dtype, qscheme, least, most):
    observer = PerChannelMinMaxObserver(ch_axis=0, dtype=dtype, qscheme=qscheme, quant_min=least, quant_max=most)
    observer(w)
    return observer.calculate_qparams()


def int8(tensors, name, w):
    scales, zero_points = observed(w, torch.qint8, torch.per_channel_symmetric, -128, 127)
    assert not zero_points.any()
    q = torch.quantize_per_channel(w, scales, zero_points, 0, torch.qint8)
    tensors[f"{name}.codes"] = q.int_repr().to(torch.int32)
    tensors[f"{name}.scales"] = scales
    tensors[f"{name}.values"] = q.dequantize()


def int4(tensors, name, w):
    scales, zero_points = observed(w, torch.quint8, torch.per_channel_affine, 0, 15)
    values = torch.fake_quantize_per_channel_affine(w, scales, zero_points.to(torch.int32), 0, 0, 15)
    tensors[f"{name}.scales"] = scales
    tensors[f"{name}.zero_points"] = zero_points.to(torch.uint8)
    tensors[f"{name}.values"] = values


def nf4(tensors, case, name, w, nested):
    packed, state = bnb.quantize_4bit(w, blocksize=64, quant_type="nf4", compress_statistics=nested)
    parts = state.as_dict(packed=True)
    tensors[f"{name}.weight"] = packed
    for key, part in parts.items():
        tensors[f"{name}.weight.{key}"] = part
    tensors[f"{name}.source"] = w
    tensors[f"{name}.values"] = bnb.dequantize_4bit(packed, state).reshape(w.shape)
    case.append(name)


def dynamic(tensors):
    layer = torch.nn.Linear(128, 24)
    with torch.no_grad():
        layer.weight.copy_(tensors["plain.weight"])
        layer.bias.copy_(random([24], 702, torch.float32, -1.0, 1.0))
    quantized = quantize_dynamic(torch.nn.Sequential(layer), {torch.nn.Linear: per_channel_dynamic_qconfig})
    x = random([5, 128], 703, torch.float32, -3.0, 1.0)
    x[1] = x[1].abs()
    x[2] = 0.0
    x[3] *= 1e-6
    x[4, 7] = 50.0
    # One row at a time, so that each has a scale of its own.
    with torch.no_grad():
        outputs = torch.cat([quantized(row[None]) for row in x])
    scales = [torch._choose_qparams_per_tensor(row, True) for row in x]
    tensors["dynamic.bias"] = layer.bias
    tensors["dynamic.x"] = x
    tensors["dynamic.y"] = outputs
    tensors["dynamic.scales"] = torch.tensor([scale for scale, _ in scales])
    tensors["dynamic.zero_points"] = torch.tensor([zero for _, zero in scales])


def write():
    torch.backends.quantized.engine = "x86"
    tensors, four_bit = {}, []
    for name, w in weights().items():
        tensors[f"{name}.weight"] = w
        int8(tensors, f"int8.{name}", w)
        int8(tensors, f"grouped.{name}", w.reshape(-1, GROUP))
        int4(tensors, f"int4.{name}", w.reshape(-1, GROUP))
    large = random([80, 216], 704, torch.float32, -1.0, 1.0) ** 3
    nf4(tensors, four_bit, "nested", large, True)
    nf4(tensors, four_bit, "half", large[:10].to(torch.bfloat16), True)
    nf4(tensors, four_bit, "odd", random([3, 67], 705, torch.float32, -1.0, 1.0), False)
    dynamic(tensors)
    tensors = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    case = {"weights": ["plain", "edges"], "group": GROUP, "nf4": four_bit}
    write_safetensors("quantize.safetensors", tensors, json.loads(json.dumps(case)))
