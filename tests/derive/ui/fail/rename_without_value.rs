//! A rename to nothing.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(rename)]
    weight: Parameter,
}

fn main() {}
