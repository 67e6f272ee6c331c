//! A tensor that nobody saves.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    fc: Linear,
    mean: Tensor,
}

fn main() {}
