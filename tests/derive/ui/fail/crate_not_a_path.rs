//! A crate path that is not a path.

use module_nn::prelude::*;

#[derive(Module)]
#[module(crate = "module nn")]
struct Net {
    weight: Parameter,
}

fn main() {}
