//! A repeated attribute.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(rename = "a")]
    #[module(rename = "b")]
    weight: Parameter,
}

fn main() {}
