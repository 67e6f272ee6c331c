//! Two renames that collide.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(rename = "weight")]
    first: Parameter,
    #[module(rename = "weight")]
    second: Parameter,
}

fn main() {}
