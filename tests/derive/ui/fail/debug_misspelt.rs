//! `debug` with a typo.

use module_nn::prelude::*;

#[derive(Module)]
#[module(debgu)]
struct Net {
    weight: Parameter,
}

fn main() {}
