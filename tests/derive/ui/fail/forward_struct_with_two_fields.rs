//! Two members whose combination is undefined.

use module_nn::prelude::*;

#[derive(Module, Forward)]
struct Net {
    first: Linear,
    second: Linear,
}

fn main() {}
