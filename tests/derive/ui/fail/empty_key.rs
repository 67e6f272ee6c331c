//! A key without a name.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(rename = "")]
    weight: Parameter,
}

fn main() {}
