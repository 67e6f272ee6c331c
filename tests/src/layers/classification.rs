//! The entries of the losses of classification.

use module_nn::prelude::*;

use super::{Entry, loss};

pub(super) fn entries() -> Vec<Entry> {
    vec![loss("CrossEntropyLoss", CrossEntropyLoss::config)]
}
