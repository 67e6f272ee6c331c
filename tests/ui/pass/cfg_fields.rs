//! A field that is configured away does not register.

use module_nn::prelude::*;

#[path = "../show.rs"]
mod show;
use show::{assert_shown, parameter};

#[derive(Module)]
struct Net {
    #[cfg(all())]
    weight: Parameter,
    #[cfg(any())]
    missing: NoSuchType,
    #[cfg_attr(all(), module(rename = "b"))]
    bias: Parameter,
}

fn main() {
    assert_shown(&mut Net { weight: parameter(), bias: parameter() }, &["weight", "b"]);
}
