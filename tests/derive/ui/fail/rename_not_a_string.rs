//! A key that is no string.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(rename = bias)]
    weight: Parameter,
}

fn main() {}
