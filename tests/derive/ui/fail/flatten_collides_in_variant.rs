//! A variant's flattened field brings the key of the field beside it.

use module_nn::prelude::*;

#[derive(Module)]
struct Base {
    weight: Parameter,
}

#[derive(Module)]
enum Norm {
    Affine { weight: Parameter },
    Both { weight: Parameter, #[module(flatten)] base: Base },
}

fn main() {}
