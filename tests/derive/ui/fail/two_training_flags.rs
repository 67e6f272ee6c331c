//! A module with two mode flags.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    training: Training,
    frozen: Training,
}

fn main() {}
