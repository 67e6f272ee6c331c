use module_nn::prelude::*;

use super::{Entry, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("Conv2dNormActivation", Conv2dNormActivationConfig::build),
        layer("CrossMapLRN2d", CrossMapLRN2dConfig::build),
        layer("LayerNorm2d", LayerNorm2dConfig::build),
        layer("Permute", PermuteConfig::build),
        layer("SqueezeExcitation", SqueezeExcitationConfig::build),
        layer("StochasticDepth", StochasticDepthConfig::build),
    ]
}
