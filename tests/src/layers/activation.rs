use module_nn::prelude::*;

use super::{Entry, NoArguments, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![layer("ReLU", |_: &NoArguments| Ok(ReLU::new()))]
}
