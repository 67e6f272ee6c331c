//! A flattened field of a variant has the key of the field next to it.

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
