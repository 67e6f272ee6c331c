//! A flag with a value.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(skip = true)]
    name: String,
    weight: Parameter,
}

fn main() {}
