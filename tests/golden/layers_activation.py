"""layers_activation.safetensors: activations."""

import torch

from layer_family import Family

SPECIAL = torch.tensor([-1.5, -0.0, 0.0, 1e-30, 2.5, float("nan"), float("inf"), float("-inf")])


def write():
    family = Family("activation")
    family.case("ReLU", {}, [[3, 5]])
    family.case("ReLU", {}, [SPECIAL], label="zeros, NaN and infinities")
    family.case("ReLU", {}, [torch.tensor(-0.5)], label="no dimension")
    family.case("ReLU", {}, [[0, 3]], label="empty")
    family.layouts("ReLU", {}, [4, 3], "transposed:0,1", "strided:1")
    family.halves("ReLU", {}, [SPECIAL])
    family.refuses("ReLU", {}, [torch.tensor([True])], quotes=["bool"])
    return family.write()
