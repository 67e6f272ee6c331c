//! A list of such tensors.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    means: Vec<Tensor>,
}

fn main() {}
