//! A function that is not skipped.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    fc: Linear,
    activation: fn(f32) -> f32,
}

fn main() {}
