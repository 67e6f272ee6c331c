//! A flattened field without members.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(flatten)]
    weight: Parameter,
}

fn main() {}
