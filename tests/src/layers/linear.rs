use module_nn::prelude::*;

use super::{Entry, NoArguments, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("Identity", |_: &NoArguments| Ok(Identity::new())),
        layer("Linear", LinearConfig::build),
    ]
}
