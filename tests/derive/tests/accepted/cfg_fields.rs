//! A field removed by `cfg` does not register.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct Net {
    #[cfg(any(unix, not(unix)))]
    weight: Parameter,
    #[cfg(any())]
    missing: NoSuchType,
    #[cfg_attr(all(), module(rename = "b"))]
    bias: Parameter,
}

#[test]
fn runs() {
    assert_shown(
        &mut Net {
            weight: parameter(),
            bias: parameter(),
        },
        &["weight", "b"],
    );
}
