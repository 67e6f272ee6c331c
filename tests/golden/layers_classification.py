"""layers_classification.safetensors: classification losses."""

import torch

from common import integers, random
from layer_family import Family, Input

NAME = "CrossEntropyLoss"


def write():
    family = Family("classification", modes=("train", "eval"))

    def both(shape, target, weight=None, layout="contiguous", soft=False, label="", dtypes=("f32", "f64"), **kwargs):
        if weight is not None:
            kwargs["weight"] = torch.tensor(weight)
        logits = Input(shape, layout, low=-3.0, high=3.0)
        family.case(NAME, kwargs, [logits, Input(target, grad=soft)], dtypes=dtypes, label=label)

    plain, grid = torch.tensor([0, 3, 2, 3, 1]), integers([2, 3], 4, 0, 4)
    weight = [0.5, 2.0, 0.0, 1.25]
    soft = torch.softmax(random([5, 4], 9, torch.float64), 1)
    soft_grid = torch.softmax(random([2, 4, 3], 9, torch.float64), 1)
    for reduction in ("none", "mean", "sum"):
        both([5, 4], plain, reduction=reduction)
        both([5, 4], plain, weight, reduction=reduction)
        both([5, 4], plain, weight, reduction=reduction, label_smoothing=0.1, ignore_index=3)
        both([2, 4, 3], grid, weight, reduction=reduction, label_smoothing=0.2, ignore_index=1)
        both([5, 4], soft, weight, reduction=reduction, label_smoothing=0.1, soft=True)
        both([2, 4, 3], soft_grid, reduction=reduction, soft=True,
             label="the mean of probabilities divides by N and d1, never by weights")
    both([5, 4], torch.tensor([0, -100, 2, -100, 1]), label="-100 is ignored when not told otherwise")
    both([5, 4], torch.tensor([-1, 1, -1, 2, 0]), ignore_index=-1)
    both([3, 4], torch.tensor([-100, -100, -100]), label="all ignored: NaN, with zero gradients")
    both([3, 4], torch.tensor([-100, -100, -100]), reduction="sum")
    both([5, 4], plain, label_smoothing=1.0)
    both([4], torch.tensor(2), label="no batch dimension")
    both([4], torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64), soft=True, label="no batch dimension")
    both([5, 4], plain, layout="transposed:0,1", dtypes=["f32"])
    both([2, 4, 3, 2], integers([2, 3, 2], 6, 0, 4), layout="transposed:1,3", dtypes=["f32"])
    both([0, 4], torch.zeros(0, dtype=torch.int64), label="empty batch: NaN")
    both([5, 4], plain, dtypes=["f16", "bf16"])
    family.refuses(NAME, {"label_smoothing": 1.5}, [[5, 4], plain], quotes=["label_smoothing = 1.5"])
    family.refuses(NAME, {"reduction": "average"}, [[5, 4], plain], quotes=["average"])
    family.refuses(NAME, {"weight": torch.ones(2, 2)}, [[5, 4], plain], quotes=["[2, 2]"])
    family.refuses(NAME, {"weight": torch.ones(3)}, [[5, 4], plain], quotes=["[3]", "4"])
    family.refuses(NAME, {}, [[5, 4], torch.tensor([0, 4, 0, 0, 0])], quotes=["4"])
    family.refuses(NAME, {}, [[5, 4], torch.tensor([0, 1])], quotes=["[5, 4]", "[2]"])
    family.refuses(NAME, {}, [[5, 4], [5, 1]], quotes=["[5, 4]", "[5, 1]"], label="would broadcast")
    return family.write()
