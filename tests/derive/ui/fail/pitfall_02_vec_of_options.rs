//! A list with holes.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    layers: Vec<Option<Linear>>,
}

fn main() {}
