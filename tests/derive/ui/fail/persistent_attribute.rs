//! What a buffer itself knows.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(persistent = false)]
    mask: Buffer,
}

fn main() {}
