//! A module has one mode.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    training: Training,
    frozen: Training,
}

fn main() {}
