//! An attribute with no similar name.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(requires_grad = false)]
    weight: Parameter,
}

fn main() {}
