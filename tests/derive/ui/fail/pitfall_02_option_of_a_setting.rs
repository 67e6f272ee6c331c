//! An optional constant.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    padding_idx: Option<usize>,
    weight: Parameter,
}

fn main() {}
