//! An attribute with a similar name.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(skipp)]
    weight: Parameter,
}

fn main() {}
