//! The same with a parameter.

use module_nn::prelude::*;

#[derive(Clone, Module)]
struct Net {
    weight: Parameter,
}

fn main() {}
