//! An attribute that is not at all one of ours.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(persistent = false)]
    weight: Parameter,
}

fn main() {}
