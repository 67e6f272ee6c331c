//! A rename that collides with a later field.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(rename = "weight")]
    gamma: Parameter,
    weight: Parameter,
}

fn main() {}
