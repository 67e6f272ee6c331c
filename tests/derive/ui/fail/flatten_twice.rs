//! Two flattened fields are checked separately.

use module_nn::prelude::*;

#[derive(Module)]
struct Base {
    weight: Parameter,
}

#[derive(Module)]
struct Net {
    weight: Parameter,
    #[module(flatten)]
    first: Base,
    #[module(flatten)]
    act: Linear,
}

fn main() {}
