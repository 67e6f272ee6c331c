//! A list of numbers; lists hold modules or parameters.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    fc: Linear,
    widths: Vec<usize>,
}

fn main() {}
