use module_nn::prelude::*;

use super::{Entry, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("CircularPad1d", CircularPad1dConfig::build),
        layer("CircularPad2d", CircularPad2dConfig::build),
        layer("CircularPad3d", CircularPad3dConfig::build),
        layer("ConstantPad1d", ConstantPad1dConfig::build),
        layer("ConstantPad2d", ConstantPad2dConfig::build),
        layer("ConstantPad3d", ConstantPad3dConfig::build),
        layer("ReflectionPad1d", ReflectionPad1dConfig::build),
        layer("ReflectionPad2d", ReflectionPad2dConfig::build),
        layer("ReflectionPad3d", ReflectionPad3dConfig::build),
        layer("ReplicationPad1d", ReplicationPad1dConfig::build),
        layer("ReplicationPad2d", ReplicationPad2dConfig::build),
        layer("ReplicationPad3d", ReplicationPad3dConfig::build),
        layer("ZeroPad1d", ZeroPad1dConfig::build),
        layer("ZeroPad2d", ZeroPad2dConfig::build),
        layer("ZeroPad3d", ZeroPad3dConfig::build),
    ]
}
