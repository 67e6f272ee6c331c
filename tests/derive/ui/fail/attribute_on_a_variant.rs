//! A variant never appears in a key.

use module_nn::prelude::*;

#[derive(Module)]
enum Net {
    #[module(rename = "w")]
    Weight(Parameter),
    Unit,
}

fn main() {}
