//! Several of them.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    means: Vec<Tensor>,
}

fn main() {}
