//! A generic container with an `Option` as its parameter.

use module_nn::prelude::*;

#[derive(Module)]
struct Block<N> {
    norm: N,
}

#[derive(Module)]
struct Net {
    block: Block<Option<Linear>>,
}

fn main() {}
