//! A raw pointer.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    encoder: *const Linear,
}

fn main() {}
