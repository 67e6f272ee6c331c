//! The entries of normalizations.

use module_nn::prelude::*;

use super::{Entry, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("BatchNorm3d", BatchNorm3d::config),
        layer("GroupNorm", GroupNorm::config),
        layer("InstanceNorm1d", InstanceNorm1d::config),
        layer("InstanceNorm2d", InstanceNorm2d::config),
        layer("InstanceNorm3d", InstanceNorm3d::config),
        layer("LayerNorm", LayerNorm::config),
        layer("LocalResponseNorm", LocalResponseNorm::config),
        layer("RMSNorm", RMSNorm::config),
    ]
}
