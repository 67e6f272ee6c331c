//! Unnamed fields register under their numbers.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct Pair(Parameter, Inner);

#[derive(Module)]
struct Inner(Parameter);

#[test]
fn runs() {
    assert_shown(
        &mut Pair(parameter(), Inner(parameter())),
        &["0", "1: Inner", "1.0"],
    );
}
