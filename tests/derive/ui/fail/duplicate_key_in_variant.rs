//! The same in a variant of an enum.

use module_nn::prelude::*;

#[derive(Module)]
enum Net {
    Pair(Parameter, #[module(rename = "0")] Parameter),
    Unit,
}

fn main() {}
