//! An attribute in the wrong place.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(crate = "module_nn")]
    weight: Parameter,
}

fn main() {}
