//! A crate that cannot be one.

use module_nn::prelude::*;

#[derive(Module)]
#[module(crate = "module nn")]
struct Net {
    weight: Parameter,
}

fn main() {}
