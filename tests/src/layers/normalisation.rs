use module_nn::prelude::*;

use super::{Entry, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("BatchNorm3d", BatchNorm3dConfig::build),
        layer("GroupNorm", GroupNormConfig::build),
        layer("InstanceNorm1d", InstanceNorm1dConfig::build),
        layer("InstanceNorm2d", InstanceNorm2dConfig::build),
        layer("InstanceNorm3d", InstanceNorm3dConfig::build),
        layer("LayerNorm", LayerNormConfig::build),
        layer("LocalResponseNorm", LocalResponseNormConfig::build),
        layer("RMSNorm", RMSNormConfig::build),
    ]
}
