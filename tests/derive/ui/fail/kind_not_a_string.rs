//! A name that is not a string.

use module_nn::prelude::*;

const NAME: usize = 3;

#[derive(Module)]
#[module(kind = NAME)]
struct Net {
    weight: Parameter,
}

fn main() {}
