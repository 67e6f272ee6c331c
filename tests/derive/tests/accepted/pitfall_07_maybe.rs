//! An optional parameter registers if it is present.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct Net {
    weight: Parameter,
    bias: Maybe<Parameter>,
}

#[test]
fn runs() {
    assert_shown(
        &mut Net {
            weight: parameter(),
            bias: crate::show::absent(),
        },
        &["weight"],
    );
}
