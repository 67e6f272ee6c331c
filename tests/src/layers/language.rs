//! The entries of layers of language models.

use module_nn::prelude::*;

use super::{Entry, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![layer("TransposedLinear", TransposedLinear::config)]
}
