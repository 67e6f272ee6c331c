"""layers_dropout.safetensors: dropout."""

import itertools

import torch

from common import random
from layer_family import Family, Input
from layers_activation import SPECIAL


def write():
    family = Family("dropout")
    for p, mode in itertools.product((0.0, 0.3, 0.5, 1.0), ("train", "eval")):
        family.case("Dropout", {"p": p}, [[3, 7]], mode=mode, seed=3)
    family.case("Dropout", {}, [[5]], label="p is 0.5 when not given")
    family.case("Dropout", {"p": 0.3}, [[9, 13]], seed=11)
    family.layouts("Dropout", {"p": 0.3}, [4, 6], "transposed:0,1", seed=5,
                   label="the mask follows the memory order of a dense input")
    family.layouts("Dropout", {"p": 0.3}, [4, 6], "narrowed:1", seed=5)
    family.layouts("Dropout", {"p": 0.4}, [2, 3, 4], "transposed:0,2", seed=5)
    family.case("Dropout", {"p": 0.3}, [Input(random([1, 4], 8).expand(5, 4), "expanded:0")], dtypes=["f32"], seed=5)
    family.case("Dropout", {"p": 0.5}, [torch.tensor(1.5)], seed=2, label="no dimension")
    family.case("Dropout", {"p": 0.5}, [[0, 3]], label="empty")
    family.case("Dropout", {"p": 0.5}, [SPECIAL], seed=4,
                label="a dropped NaN stays NaN: the input is multiplied by the mask")
    family.case("Dropout", {"p": 1.0}, [SPECIAL], seed=4)
    family.halves("Dropout", {"p": 0.3}, [[3, 7]], seed=3)
    family.refuses("Dropout", {"p": 1.1}, quotes=["p = 1.1"])
    family.refuses("Dropout", {"p": -0.1}, quotes=["p = -0.1"])
    return family.write()
