//! Keys that start like names of the file format.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(rename = "__metadata__")]
    weight: Parameter,
    __bias: Parameter,
}

fn main() {}
