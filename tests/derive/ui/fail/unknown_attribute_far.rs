//! An attribute that is not at all one of ours.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(requires_grad = false)]
    weight: Parameter,
}

fn main() {}
