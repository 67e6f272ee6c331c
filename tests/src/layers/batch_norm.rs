use module_nn::prelude::*;

use super::{Entry, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("BatchNorm1d", BatchNorm1dConfig::build),
        layer("BatchNorm2d", BatchNorm2dConfig::build),
    ]
}
