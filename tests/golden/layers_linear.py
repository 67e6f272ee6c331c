"""layers_linear.safetensors: linear layers and the identity."""

import torch

from common import random
from layer_family import Family, Input
from layers_activation import SPECIAL


def linear(i, o, **kwargs):
    return {"in_features": i, "out_features": o, **kwargs}


def write():
    family = Family("linear", modes=("train", "eval"))
    family.case("Linear", linear(3, 2), [[5, 3]])
    family.case("Linear", linear(7, 5, bias=False), [[3, 7]], seed=1)
    family.case("Linear", linear(4, 3), [[4]], label="one dimension")
    family.case("Linear", linear(5, 3), [[2, 3, 5]], label="three dimensions")
    family.case("Linear", linear(6, 4), [Input([5, 6], "transposed:0,1")], dtypes=["f32"])
    family.case("Linear", linear(6, 1), [Input([5, 6], "narrowed:1")], dtypes=["f32"])
    family.case("Linear", linear(3, 3), [Input(random([1, 3], 77).expand(4, 3), "expanded:0")], dtypes=["f32"])
    family.case("Linear", linear(3, 2), [[0, 3]], label="empty batch")
    family.case("Linear", linear(11, 13), [[7, 11]])
    family.halves("Linear", linear(5, 3), [[4, 5]])
    family.refuses("Linear", linear(3, -2), quotes=["-2"])
    family.refuses("Linear", {"in_features": 3}, quotes=["out_features"])
    family.refuses("Linear", linear(3, 2, biased=True), quotes=["biased"])
    family.refuses("Linear", linear(0, 2), quotes=["in_features = 0"], accepted=True)
    family.refuses("Linear", linear(3, 2), [[5, 4]], quotes=["[5, 4]", "3"])
    family.refuses("Linear", linear(3, 2), [[]], quotes=["[]"])

    for values in ([3, 5], [7], [2, 3, 1, 2], torch.tensor(-0.5), SPECIAL, [0, 3]):
        family.case("Identity", {}, [values])
    family.layouts("Identity", {}, [3, 5], "transposed:0,1", "expanded:0")
    family.case("Identity", {}, [torch.tensor([1, 2])], label="integers", backward=False)
    return family.write()
