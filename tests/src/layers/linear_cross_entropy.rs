//! The entries of the linear cross-entropy loss.

use module_nn::prelude::*;

use super::{Entry, loss};

pub(super) fn entries() -> Vec<Entry> {
    vec![loss(
        "LinearCrossEntropyLoss",
        LinearCrossEntropyLoss::config,
    )]
}
