use module_nn::prelude::*;

use super::{Entry, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("AlphaDropout", AlphaDropoutConfig::build),
        layer("Dropout", DropoutConfig::build),
        layer("Dropout1d", Dropout1dConfig::build),
        layer("Dropout2d", Dropout2dConfig::build),
        layer("Dropout3d", Dropout3dConfig::build),
        layer("FeatureAlphaDropout", FeatureAlphaDropoutConfig::build),
    ]
}
