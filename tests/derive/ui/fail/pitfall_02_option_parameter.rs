//! An optional parameter.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    weight: Parameter,
    bias: std::option::Option<Parameter>,
}

fn main() {}
