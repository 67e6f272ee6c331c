//! The framework is found under another name.

mod vendored {
    pub use module_nn as nn;
}

use module_nn::prelude::*;

#[path = "../show.rs"]
mod show;
use show::{assert_shown, parameter};

#[derive(Module)]
#[module(crate = "crate::vendored::nn")]
struct Net {
    weight: Parameter,
}

fn main() {
    assert_shown(&mut Net { weight: parameter() }, &["weight"]);
}
