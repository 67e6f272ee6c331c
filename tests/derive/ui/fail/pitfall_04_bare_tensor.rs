//! A tensor that would not be saved.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    fc: Linear,
    mean: Tensor,
}

fn main() {}
