//! A child that the module does not own.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    encoder: &'static Linear,
}

fn main() {}
