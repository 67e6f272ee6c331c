//! The tree and the form of Rust, of which a type has one.

use module_nn::prelude::*;

#[derive(Module, Debug)]
#[module(debug)]
struct Net {
    weight: Parameter,
}

fn main() {}
