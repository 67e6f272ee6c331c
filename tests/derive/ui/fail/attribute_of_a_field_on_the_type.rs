//! An attribute in the other wrong place.

use module_nn::prelude::*;

#[derive(Module)]
#[module(rename = "net")]
struct Net {
    weight: Parameter,
}

fn main() {}
