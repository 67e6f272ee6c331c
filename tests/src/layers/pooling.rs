use module_nn::prelude::*;

use super::{Entry, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![layer("MaxPool2d", MaxPool2dConfig::build)]
}
