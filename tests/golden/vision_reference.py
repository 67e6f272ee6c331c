"""torchvision's layers; arguments that are classes are given by name. Needs torchvision 0.29."""

import torchvision
from torch import nn
from torchvision.models.convnext import LayerNorm2d
from torchvision.ops import FrozenBatchNorm2d, Permute, StochasticDepth

__all__ = ["Conv2dNormActivation", "LayerNorm2d", "Permute", "SqueezeExcitation", "StochasticDepth"]


def named(kwargs, *names):
    """The classes whose names are given. Nothing is printed of `inplace`, which ours does not have."""
    kinds = {"LayerNorm2d": LayerNorm2d}
    return {key: kinds.get(value) or getattr(nn, value) if key in names and value is not None else value
            for key, value in kwargs.items()}


def Conv2dNormActivation(**kwargs):
    return torchvision.ops.Conv2dNormActivation(**named(kwargs, "norm_layer", "activation_layer"), inplace=None)


def SqueezeExcitation(**kwargs):
    return torchvision.ops.SqueezeExcitation(**named(kwargs, "activation", "scale_activation"))
