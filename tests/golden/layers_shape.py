"""layers_shape.safetensors: layers that only arrange elements."""

import torch

from layer_family import Family


def write():
    family = Family("shape")
    family.case("Flatten", {}, [[2, 3, 2, 2]])
    family.case("Flatten", {"start_dim": 0}, [[2, 3, 2]])
    family.case("Flatten", {"start_dim": 1, "end_dim": 2}, [[2, 3, 2, 2]])
    family.case("Flatten", {"start_dim": -3, "end_dim": -2}, [[2, 3, 2, 2]])
    family.case("Flatten", {"start_dim": 2, "end_dim": 2}, [[2, 3, 4]], label="one dimension: nothing to do")
    family.layouts("Flatten", {}, [2, 3, 4], "transposed:1,2", label="needs a copy")
    family.case("Flatten", {"start_dim": 0, "end_dim": -1}, [torch.tensor(1.5)], label="no dimension gives one")
    family.case("Flatten", {}, [[0, 3, 2]], label="empty batch")
    family.case("Flatten", {}, [[3, 0, 2]], label="an empty dimension")
    family.refuses("Flatten", {"start_dim": 2, "end_dim": 1}, [[1, 2, 3]], quotes=["2", "1"])
    family.refuses("Flatten", {"end_dim": 3}, [[1, 2, 3]], quotes=["3", "[1, 2, 3]"])
    return family.write()
