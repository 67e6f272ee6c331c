//! The framework is found under a different name.

mod vendored {
    pub use module_nn as nn;
}

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
#[module(crate = "crate::crate_path::vendored::nn")]
struct Net {
    weight: Parameter,
}

#[test]
fn runs() {
    assert_shown(
        &mut Net {
            weight: parameter(),
        },
        &["weight"],
    );
}
