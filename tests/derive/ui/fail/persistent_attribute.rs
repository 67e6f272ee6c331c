//! A property that the buffer itself has.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(persistent = false)]
    mask: Buffer,
}

fn main() {}
