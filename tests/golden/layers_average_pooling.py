"""layers_average_pooling.safetensors: average and power-average pooling."""

import torch

from layer_family import Family, Input
from layers_pooling import SPATIAL, pool


def write():
    family = Family("average_pooling", modes=("train", "eval"))
    for dims, size in SPATIAL.items():
        means(family, dims, size)
        adaptive(family, dims, size)
        norms(family, dims, size)
    family.halves("AvgPool2d", pool(3, stride=2, padding=1), [[1, 2, 7, 5]])
    return family.write()


def means(family, dims, size):
    layer, each = f"AvgPool{dims}d", lambda *sizes: list(sizes)[:dims]
    family.case(layer, pool(2), [[2, 2, *size]])
    family.case(layer, pool(3, stride=2, padding=1, ceil_mode=True), [[1, 2, *size]])
    family.case(layer, pool(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False), [[1, 2, *size]])
    family.case(layer, pool(each(3, 2, 1), stride=each(1, 2, 3), padding=each(1, 1, 0)), [[1, 2, *size]])
    family.case(layer, pool(2), [[2, *size]], label="no batch dimension")
    family.case(layer, pool(2), [[0, 2, *size]], label="empty batch")
    if dims > 1:
        family.case(layer, pool(2, divisor_override=3), [[2, 2, *size]])
        family.case(layer, pool(2, padding=1, ceil_mode=True, divisor_override=1), [[1, 2, *size]], dtypes=["f32"])
        family.refuses(layer, pool(2, divisor_override=0), [[1, 2, *size]], quotes=["divisor_override = 0"])
    family.layouts(layer, pool(2), [2, 3, *size], f"transposed:1,{dims + 1}", "strided:2")
    image = [[1, 2, *size]]
    family.refuses(layer, pool(3, padding=2), image, quotes=["padding = (2,", "(3,"])
    family.refuses(layer, pool(2, stride=0), image, quotes=["stride = (0,"])
    family.refuses(layer, pool(0), image, quotes=["kernel_size = (0,"])
    family.refuses(layer, pool([2] * (dims + 1)), image, quotes=[str(dims + 1), str(dims)])
    family.refuses(layer, pool(20), image, quotes=["20", "[1, 2, "])
    family.refuses(layer, pool(2), [[2] * (dims + 3)], quotes=["[2, 2, "])


def adaptive(family, dims, size):
    layer, each = f"AdaptiveAvgPool{dims}d", lambda *sizes: list(sizes)[:dims]
    family.case(layer, {"output_size": 1}, [[2, 2, *size]])
    family.case(layer, {"output_size": each(4, 3, 2)}, [[2, 2, *size]])
    if dims > 1:
        # PyTorch's one-dimensional layer takes no None.
        family.case(layer, {"output_size": each(4, None, 3)}, [[1, 2, *size]])
    family.case(layer, {"output_size": 10 if dims < 3 else 7}, [[2, *size]],
                label="no batch dimension, more places than there are")
    family.case(layer, {"output_size": each(5, 1, 3)}, [[1, 3, *size]])
    family.case(layer, {"output_size": 2}, [[0, 2, *size]], label="empty batch")
    family.layouts(layer, {"output_size": 2}, [2, 3, *size], f"transposed:1,{dims + 1}", "narrowed:2")
    family.refuses(layer, {"output_size": [2] * (dims + 1)}, [[1, 2, *size]], quotes=["(2, 2", str(dims)])
    family.refuses(layer, {"output_size": -2}, [[1, 2, *size]], quotes=["-2"])
    family.refuses(layer, {"output_size": 2}, [[2] * (dims + 3)], quotes=["[2, 2, "])
    family.refuses(layer, {"output_size": 2}, [[1, 2, 0, *size[1:]]], quotes=["[1, 2, 0"])


def norms(family, dims, size):
    layer, each = f"LPPool{dims}d", lambda *sizes: list(sizes)[:dims]
    lp = lambda norm_type, kernel, **kwargs: {"norm_type": norm_type, **pool(kernel, **kwargs)}
    positive = Input([2, 2, *size], low=0.5, high=2.0)
    family.case(layer, lp(2.0, 2), [[2, 2, *size]])
    family.case(layer, lp(1.0, each(3, 2, 2) if dims > 1 else 3, stride=each(2, 1, 3)), [positive])
    family.case(layer, lp(3.0, 2, stride=3, ceil_mode=True), [positive])
    family.case(layer, lp(1.5, 2), [positive])
    family.case(layer, lp(2.0, 2), [torch.zeros(1, 1, *size)], label="zeros have no slope")
    family.case(layer, lp(2.0, 2), [[2, *size]], label="no batch dimension")
    family.case(layer, lp(2.0, 2), [[0, 2, *size]], label="empty batch")
    family.layouts(layer, lp(2.0, 2), [2, 3, *size], f"transposed:1,{dims + 1}")
    image = [[1, 2, *size]]
    family.refuses(layer, lp(0.0, 2), quotes=["norm_type = 0"])
    family.refuses(layer, lp(2.0, 2, stride=0), image, quotes=["stride = (0,"])
    family.refuses(layer, lp(2.0, 0), image, quotes=["kernel_size = (0,"])
    family.refuses(layer, lp(2.0, 20), image, quotes=["20"])
    family.refuses(layer, lp(2.0, 2), [[2] * (dims + 3)], quotes=["[2, 2, "])
