//! A parameter that may be absent registers when it is there.

use module_nn::prelude::*;

#[path = "../show.rs"]
mod show;
use show::{assert_shown, parameter};

#[derive(Module)]
struct Net {
    weight: Parameter,
    bias: Maybe<Parameter>,
}

fn main() {
    assert_shown(&mut Net { weight: parameter(), bias: show::absent() }, &["weight"]);
}
