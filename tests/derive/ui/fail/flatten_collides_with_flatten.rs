//! Two flattened children have the same key.

use module_nn::prelude::*;

#[derive(Module)]
struct Left {
    weight: Parameter,
}

#[derive(Module)]
struct Right {
    bias: Parameter,
    weight: Buffer,
}

#[derive(Module)]
struct Net {
    #[module(flatten)]
    left: Left,
    #[module(flatten)]
    right: Box<Right>,
}

fn main() {}
