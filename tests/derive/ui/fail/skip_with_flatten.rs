//! Flattening of a skipped field.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    weight: Parameter,
    #[module(skip, flatten)]
    base: Linear,
}

fn main() {}
