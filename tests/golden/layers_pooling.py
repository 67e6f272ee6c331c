"""layers_pooling.safetensors: pooling."""

import torch

from common import integers
from layer_family import Family


def pool(kernel, **kwargs):
    return {"kernel_size": kernel, **kwargs}


def write():
    family = Family("pooling")
    ties = integers([2, 2, 7, 5], 1, 0, 3).double()
    one = integers([1, 2, 6, 7], 2, -1, 2).double()

    def both(kwargs, values, **options):
        family.case("MaxPool2d", kwargs, [values], **options)

    both(pool(2), [2, 2, 6, 4])
    both(pool(2), ties, label="odd size, ties")
    both(pool(2, ceil_mode=True), ties)
    both(pool(3, stride=1, padding=1), ties, label="overlapping windows, ties")
    both(pool(3, stride=2, padding=1, ceil_mode=True), one)
    both(pool([2, 3], stride=[1, 2], padding=[1, 1]), one)
    both(pool(2, dilation=2), one)
    both(pool([3, 2], stride=2, dilation=[1, 2], padding=[1, 0], ceil_mode=True), one)
    both(pool(2, stride=3, ceil_mode=True), [1, 1, 7, 5],
         label="a window that would start in the padding on the right is dropped")
    both(pool(2), [2, 5, 4], label="no batch dimension")
    family.layouts("MaxPool2d", pool(2), [2, 3, 4, 6], "transposed:2,3")
    family.layouts("MaxPool2d", pool(3, stride=2), [2, 3, 5, 5], "transposed:1,3")
    inf = float("inf")
    both(pool(2), torch.tensor([[1, float("nan"), -inf, -inf], [2, 3, -inf, -inf], [inf, 1, float("nan"), 1],
                                [5, 1, 1, float("nan")]]).reshape(1, 1, 4, 4),
         label="NaN wins, minus infinity pads")
    both(pool(2), [0, 2, 4, 4], label="empty batch")
    family.halves("MaxPool2d", pool(3, stride=2, padding=1), [one])
    image = [1, 1, 6, 6]
    family.refuses("MaxPool2d", pool([2, 0]), [image], quotes=["kernel_size = (2, 0)"])
    family.refuses("MaxPool2d", pool(3, padding=2), [image], quotes=["padding = (2, 2)", "(3, 3)"])
    family.refuses("MaxPool2d", pool(3, stride=[1, 0]), [image], quotes=["stride = (1, 0)"])
    family.refuses("MaxPool2d", pool(3, dilation=0), [image], quotes=["dilation = (0, 0)"])
    family.refuses("MaxPool2d", pool([2, 2, 2]), [image], quotes=["3", "2"])
    family.refuses("MaxPool2d", pool(7), [image], quotes=["7", "6"])
    family.refuses("MaxPool2d", pool(2), [[6, 6]], quotes=["[6, 6]"])
    return family.write()
