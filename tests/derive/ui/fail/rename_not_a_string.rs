//! A key that is not a string.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(rename = bias)]
    weight: Parameter,
}

fn main() {}
