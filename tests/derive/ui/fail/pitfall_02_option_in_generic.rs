//! A generic container that is given an `Option`.

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
