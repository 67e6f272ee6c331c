//! Nothing tells how two members work together.

use module_nn::prelude::*;

#[derive(Module, Forward)]
struct Net {
    first: Linear,
    second: Linear,
}

fn main() {}
