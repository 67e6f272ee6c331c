//! The entries of dropouts.

use module_nn::prelude::*;

use super::{Entry, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("AlphaDropout", AlphaDropout::config),
        layer("Dropout", Dropout::config),
        layer("Dropout1d", Dropout1d::config),
        layer("Dropout2d", Dropout2d::config),
        layer("Dropout3d", Dropout3d::config),
        layer("FeatureAlphaDropout", FeatureAlphaDropout::config),
    ]
}
