"""layers_vision.safetensors: torchvision's layers, and torch.nn's CrossMapLRN2d. Needs torchvision 0.29."""

import torch

from layer_family import Family, Input


def stochastic_depth(family):
    name = "StochasticDepth"
    for p in (0.2, 0.5):
        for mode in ("row", "batch"):
            for training in ("train", "eval"):
                family.case(name, {"p": p, "mode": mode}, [[7, 3, 2]], mode=training)
    for p in (0.0, 1.0):
        family.case(name, {"p": p, "mode": "row"}, [[5, 3]], mode="train")
    family.case(name, {"p": 0.5, "mode": "batch"}, [[]], mode="train", label="no dimension")
    family.layouts(name, {"p": 0.3, "mode": "row"}, [5, 3, 2], "transposed:0,2", "strided:1", mode="train")
    family.halves(name, {"p": 0.3, "mode": "row"}, [[9, 2]], mode="train")
    family.case(name, {"p": 0.5, "mode": "row"}, [[0, 3]], mode="train")
    family.refuses(name, {"p": 1.5, "mode": "row"}, quotes=["p = 1.5"], accepted=True)
    family.refuses(name, {"p": 0.5, "mode": "column"}, quotes=["column"], accepted=True)
    family.refuses(name, {"p": 0.5, "mode": "row"}, [[]], quotes=["[batch,", "[]"])
    family.refuses(name, {"p": 0.5, "mode": "row"}, [torch.ones(3, 2, dtype=torch.int64)], quotes=["int64"])


def permute(family):
    name = "Permute"
    for dims, shape in (([0, 2, 3, 1], [2, 3, 4, 5]), ([1, 0], [3, 2]), ([-1, 0, 1], [2, 3, 4]), ([0], [5]), ([], []), ([2, 1, 0], [3, 1, 5])):
        for mode in ("train", "eval"):
            family.case(name, {"dims": dims}, [shape], mode=mode)
    family.layouts(name, {"dims": [2, 0, 1]}, [3, 4, 2], "transposed:0,2", "strided:1", "expanded:0")
    family.case(name, {"dims": [1, 0]}, [[0, 3]])
    family.refuses(name, {"dims": [0, 1, 1]}, [[2, 3, 4]], quotes=["[0, 1, 1]"])
    family.refuses(name, {"dims": [2, 1, 0]}, [[2, 3, 4, 5]], quotes=["[2, 3, 4, 5]"])
    family.refuses(name, {"dims": 2}, quotes=["2"], accepted=True)


def layer_norm2d(family):
    name = "LayerNorm2d"
    cases = (({"normalized_shape": 3}, [2, 3, 4, 5]), ({"normalized_shape": [3], "eps": 1e-6}, [1, 3, 1, 7]),
             ({"normalized_shape": 4, "elementwise_affine": False}, [2, 4, 3, 1]), ({"normalized_shape": 5, "bias": False}, [3, 5, 2, 2]),
             ({"normalized_shape": 6}, [2, 6, 3, 3]))
    for kwargs, shape in cases:
        for mode in ("train", "eval"):
            family.case(name, kwargs, [shape], mode=mode)
    family.layouts(name, {"normalized_shape": 3}, [2, 3, 4, 5], "transposed:1,3", "strided:2", "narrowed:1")
    # PyTorch's gradient in bf16 is rounded more often than it need be.
    family.halves(name, {"normalized_shape": 3}, [[2, 3, 4, 5]], backward=False)
    family.case(name, {"normalized_shape": 3}, [[0, 3, 4, 5]])
    family.refuses(name, {"normalized_shape": 3}, [[2, 4, 4, 5]], quotes=["[3]"])
    family.refuses(name, {"normalized_shape": 3}, [[3, 4, 5]], quotes=["[batch, channels, height, width]", "[3, 4, 5]"])
    family.refuses(name, {"normalized_shape": -3}, quotes=["-3"])


def squeeze_excitation(family):
    name = "SqueezeExcitation"
    cases = (({}, [2, 4, 3, 5]), ({"activation": "SiLU"}, [1, 4, 2, 2]),
             ({"scale_activation": "Sigmoid", "activation": "Hardswish"}, [2, 4, 1, 3]), ({"activation": "GELU", "scale_activation": "Tanh"}, [3, 4, 2, 5]), ({}, [4, 3, 3]))
    for kwargs, shape in cases:
        for mode in ("train", "eval"):
            family.case(name, {"input_channels": 4, "squeeze_channels": 3} | kwargs, [shape], mode=mode)
    # In f64 PyTorch's slope of the hard sigmoid is a sixth as f32 rounds it.
    family.case(name, {"input_channels": 4, "squeeze_channels": 3, "scale_activation": "Hardsigmoid"}, [[2, 4, 1, 3]], dtypes=("f32",))
    family.layouts(name, {"input_channels": 3, "squeeze_channels": 2}, [2, 3, 4, 5], "transposed:1,3", "strided:2")
    family.halves(name, {"input_channels": 3, "squeeze_channels": 2}, [[2, 3, 4, 5]])
    family.case(name, {"input_channels": 3, "squeeze_channels": 2}, [[0, 3, 4, 5]])
    family.refuses(name, {"input_channels": 3, "squeeze_channels": 2}, [[2, 4, 4, 5]], quotes=["[2, 4, 1, 1]"])
    family.refuses(name, {"input_channels": 3, "squeeze_channels": 0}, quotes=["out_channels = 0"], accepted=True)
    family.refuses(name, {"input_channels": 3, "squeeze_channels": 2, "activation": "ReLU7"}, quotes=["ReLU7"])


def conv_norm_activation(family):
    name = "Conv2dNormActivation"
    base = {"in_channels": 3, "out_channels": 4}
    cases = ({}, {"kernel_size": 1}, {"kernel_size": [3, 1], "stride": 2, "dilation": [2, 1]}, {"kernel_size": 5, "padding": 0},
             {"norm_layer": None}, {"norm_layer": None, "bias": False, "activation_layer": None},
             {"bias": True, "activation_layer": "Hardswish"}, {"norm_layer": "LayerNorm2d", "activation_layer": "SiLU"},
             {"activation_layer": "LeakyReLU", "padding": "valid"}, {"activation_layer": "ELU"}, {"activation_layer": "Mish"}, {"activation_layer": "Tanh"},
             {"activation_layer": "ReLU6", "padding": [0, 2]}, {"activation_layer": "Hardsigmoid"}, {"activation_layer": "Sigmoid"})
    for kwargs in cases:
        dtypes = ("f32",) if kwargs.get("activation_layer") == "Hardsigmoid" else ("f32", "f64")
        family.case(name, base | kwargs, [[2, 3, 6, 5]], dtypes=dtypes)
    family.case(name, {"in_channels": 4, "out_channels": 6, "groups": 2}, [[1, 4, 5, 5]], mode="eval")
    family.layouts(name, base, [2, 3, 4, 5], "transposed:1,3", "strided:2")
    family.halves(name, base, [[2, 3, 4, 5]], mode="eval")
    family.case(name, base, [[0, 3, 4, 5]], mode="eval")
    family.refuses(name, base, [[2, 4, 4, 5]], quotes=["[2, 4, 4, 5]"])
    family.refuses(name, base | {"groups": 2}, quotes=["groups = 2"])
    family.refuses(name, base | {"norm_layer": "BatchNorm7d"}, quotes=["BatchNorm7d"])


def cross_map_lrn2d(family):
    """Without gradients: PyTorch's are those of windows that are one channel off, and of one it has none."""
    name = "CrossMapLRN2d"
    cases = (({"size": 5}, [2, 7, 3, 1]), ({"size": 3, "alpha": 0.5}, [1, 5, 2, 3]), ({"size": 4, "alpha": 0.5, "beta": 0.5, "k": 2}, [2, 6, 1, 3]),
             ({"size": 1, "alpha": 1.0, "beta": 1.0, "k": 0.5}, [1, 4, 2, 2]), ({"size": 9, "alpha": 0.25}, [1, 3, 2, 2]), ({"size": 5, "alpha": 0.75}, [2, 1, 3, 3]))
    for kwargs, shape in cases:
        for mode in ("train", "eval"):
            family.case(name, kwargs, [Input(shape, grad=False)], mode=mode)
    for layout in ("transposed:1,3", "strided:2"):
        family.case(name, {"size": 3, "alpha": 0.5}, [Input([2, 5, 3, 4], layout, grad=False)], dtypes=("f32",))
    family.case(name, {"size": 3}, [Input([0, 5, 3, 4], grad=False)])
    family.refuses(name, {"size": 3}, [[2, 3, 4]], quotes=["[batch, channels, height, width]", "[2, 3, 4]"])
    family.refuses(name, {"size": 0}, quotes=["size = 0"], accepted=True)


def frozen_batch_norm2d(family):
    name = "FrozenBatchNorm2d"
    for kwargs, shape in (({"num_features": 3}, [2, 3, 4, 5]), ({"num_features": 1}, [3, 1, 1, 7]), ({"num_features": 5, "eps": 0.5}, [1, 5, 2, 3]),
                          ({"num_features": 4, "eps": 0.0}, [2, 4, 1, 1]), ({"num_features": 7, "eps": 1e-3}, [1, 7, 3, 2])):
        for mode in ("train", "eval"):
            family.case(name, kwargs, [shape], mode=mode)
    family.layouts(name, {"num_features": 3}, [2, 3, 4, 5], "transposed:1,3", "strided:2", "narrowed:1")
    family.halves(name, {"num_features": 3}, [[2, 3, 4, 5]])
    family.case(name, {"num_features": 3}, [[0, 3, 4, 5]])
    family.refuses(name, {"num_features": 3}, [[2, 4, 4, 5]], quotes=["[batch, 3, height, width]", "[2, 4, 4, 5]"])
    family.refuses(name, {"num_features": 3}, [[3, 4, 5]], quotes=["[batch, 3, height, width]", "[3, 4, 5]"], accepted=True)
    family.refuses(name, {"num_features": 0}, quotes=["num_features = 0"], accepted=True)


def write():
    family = Family("vision", modes=("train", "eval"))
    for part in (stochastic_depth, permute, layer_norm2d, squeeze_excitation, conv_norm_activation, cross_map_lrn2d, frozen_batch_norm2d):
        part(family)
    return family.write()
