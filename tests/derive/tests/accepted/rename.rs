//! A renamed field registers under its key, and its own name becomes available.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct Net {
    #[module(rename = "gamma")]
    weight: Parameter,
    #[module(rename = "weight")]
    bias: Parameter,
    #[module(rename = "0")]
    first: Parameter,
}

#[derive(Module)]
struct Tuple(
    #[module(rename = "1")] Parameter,
    #[module(rename = "0")] Parameter,
);

#[test]
fn runs() {
    let mut net = Net {
        weight: parameter(),
        bias: parameter(),
        first: parameter(),
    };
    assert_shown(&mut net, &["gamma", "weight", "0"]);
    assert_shown(&mut Tuple(parameter(), parameter()), &["1", "0"]);
}
