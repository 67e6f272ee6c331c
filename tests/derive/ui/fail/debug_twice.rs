//! Both the tree and Rust's form of `Debug`; a type can have only one.

use module_nn::prelude::*;

#[derive(Module, Debug)]
#[module(debug)]
struct Net {
    weight: Parameter,
}

fn main() {}
