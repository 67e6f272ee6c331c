//! The entries of padding.

use module_nn::prelude::*;

use super::{Entry, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("CircularPad1d", CircularPad1d::config),
        layer("CircularPad2d", CircularPad2d::config),
        layer("CircularPad3d", CircularPad3d::config),
        layer("ConstantPad1d", ConstantPad1d::config),
        layer("ConstantPad2d", ConstantPad2d::config),
        layer("ConstantPad3d", ConstantPad3d::config),
        layer("ReflectionPad1d", ReflectionPad1d::config),
        layer("ReflectionPad2d", ReflectionPad2d::config),
        layer("ReflectionPad3d", ReflectionPad3d::config),
        layer("ReplicationPad1d", ReplicationPad1d::config),
        layer("ReplicationPad2d", ReplicationPad2d::config),
        layer("ReplicationPad3d", ReplicationPad3d::config),
        layer("ZeroPad1d", ZeroPad1d::config),
        layer("ZeroPad2d", ZeroPad2d::config),
        layer("ZeroPad3d", ZeroPad3d::config),
    ]
}
