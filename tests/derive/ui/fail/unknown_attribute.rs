//! An attribute that is nearly one of ours.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(skipp)]
    weight: Parameter,
}

fn main() {}
