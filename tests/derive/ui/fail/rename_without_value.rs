//! A rename without a value.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(rename)]
    weight: Parameter,
}

fn main() {}
