//! A field attribute on the type.

use module_nn::prelude::*;

#[derive(Module)]
#[module(rename = "net")]
struct Net {
    weight: Parameter,
}

fn main() {}
