//! A flattened child has the key of another field.

use module_nn::prelude::*;

#[derive(Module)]
struct Base {
    scale: Parameter,
    weight: Parameter,
}

#[derive(Module)]
struct Net {
    weight: Parameter,
    #[module(flatten)]
    base: Base,
}

fn main() {}
