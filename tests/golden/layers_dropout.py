"""layers_dropout.safetensors: dropout."""

import itertools

import torch

from common import random
from layer_family import Family, Input
from layers_activation import SPECIAL


SHAPES = {
    "AlphaDropout": [[3, 7], [2, 3, 4]],
    "Dropout1d": [[3, 4, 2], [5, 3]],
    "Dropout2d": [[3, 4, 2, 2], [2, 4, 3], [3, 5]],
    "Dropout3d": [[3, 4, 1, 2, 2], [4, 2, 1, 3], [3, 2]],
    "FeatureAlphaDropout": [[3, 4, 2, 2], [2, 5], [2, 3, 4]],
}


def variants(family):
    for name, shapes in SHAPES.items():
        for p, mode in itertools.product((0.0, 0.3, 1.0), ("train", "eval")):
            family.case(name, {"p": p}, [shapes[0]], mode=mode, seed=3)
        for shape in shapes:
            family.case(name, {"p": 0.4}, [shape], seed=7)
        family.case(name, {}, [shapes[0]], label="p is 0.5 when not given")
        last = len(shapes[0]) - 1
        family.layouts(name, {"p": 0.3}, shapes[0], f"transposed:0,{last}", "transposed:0,1", f"strided:{last}", "expanded:0", seed=5)
        family.case(name, {"p": 0.5}, [[0, *shapes[0][1:]]], label="empty")
        family.halves(name, {"p": 0.3}, [shapes[0]], seed=3)
        family.refuses(name, {"p": 1.1}, quotes=["p = 1.1"])
        family.refuses(name, {"p": -0.1}, quotes=["p = -0.1"])
        family.refuses(name, {"p": 0.3, "q": 1}, quotes=["q"])
        if name != "AlphaDropout" and name != "Dropout3d":
            family.refuses(name, {"p": 0.3}, [[3]], quotes=["[3]"])
    family.refuses("Dropout1d", {"p": 0.3}, [[2, 3, 4, 5]], quotes=["[2, 3, 4, 5]"])
    family.refuses("Dropout1d", {"p": 0.3}, [[3]], quotes=["[3]"], mode="eval")
    family.refuses("Dropout3d", {"p": 0.3}, [torch.tensor(1.0)], quotes=["[1]"])
    family.refuses("AlphaDropout", {"p": 0.3}, [torch.tensor([1, 2])], quotes=["int64"])


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
    family.refuses("Dropout", {"p": 0.3}, [torch.tensor([1, 2])], quotes=["int64"])
    family.refuses("Dropout", {"p": 1.1}, quotes=["p = 1.1"])
    family.refuses("Dropout", {"p": -0.1}, quotes=["p = -0.1"])
    variants(family)
    return family.write()
