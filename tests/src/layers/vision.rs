//! The entries of torchvision's layers.

use module_nn::prelude::*;

use super::{Entry, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("Conv2dNormActivation", Conv2dNormActivation::config),
        layer("CrossMapLRN2d", CrossMapLRN2d::config),
        layer("FrozenBatchNorm2d", FrozenBatchNorm2d::config),
        layer("LayerNorm2d", LayerNorm2d::config),
        layer("Permute", Permute::config),
        layer("SqueezeExcitation", SqueezeExcitation::config),
        layer("StochasticDepth", StochasticDepth::config),
    ]
}
