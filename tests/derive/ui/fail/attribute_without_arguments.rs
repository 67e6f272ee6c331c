//! An empty attribute.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module]
    weight: Parameter,
}

fn main() {}
