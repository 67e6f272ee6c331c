//! A size of zero that only the compiler can determine.

use module_nn::prelude::*;

type Nothing = [u8; 0];

#[derive(Module)]
struct Net {
    nothing: Nothing,
}

fn main() {}
