//! A key for a flattened child, which has no step in the path.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(flatten, rename = "base")]
    base: Linear,
}

fn main() {}
