//! A key for a skipped field.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    weight: Parameter,
    #[module(skip, rename = "n")]
    name: String,
}

fn main() {}
