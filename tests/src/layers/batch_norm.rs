//! The entries of batch normalizations.

use module_nn::prelude::*;

use super::{Entry, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("BatchNorm1d", BatchNorm1d::config),
        layer("BatchNorm2d", BatchNorm2d::config),
    ]
}
