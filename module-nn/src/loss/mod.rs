//! Losses, one file each.

mod cross_entropy;

pub use crate::functional::Reduction;
pub use cross_entropy::{CrossEntropyLoss, CrossEntropyLossConfig};
