//! A module that borrows.

use module_nn::prelude::*;

#[derive(Module)]
struct Net<'a> {
    name: &'a str,
    fc: Linear,
}

fn main() {}
