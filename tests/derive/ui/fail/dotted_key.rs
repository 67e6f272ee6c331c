//! A key that is a path.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(rename = "encoder.weight")]
    weight: Parameter,
}

fn main() {}
