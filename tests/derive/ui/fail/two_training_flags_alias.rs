//! A second mode flag behind an alias.

use module_nn::prelude::*;

type Flag = Training;

#[derive(Module)]
struct Net {
    training: Training,
    frozen: Flag,
}

fn main() {}
