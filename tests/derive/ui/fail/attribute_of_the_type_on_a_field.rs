//! A type attribute on a field.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(crate = "module_nn")]
    weight: Parameter,
}

fn main() {}
