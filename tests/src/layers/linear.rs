//! The entries of linear layers.

use module_nn::prelude::*;

use super::{Entry, layer, plain};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        plain("Identity", Identity::new),
        layer("Linear", Linear::config),
    ]
}
