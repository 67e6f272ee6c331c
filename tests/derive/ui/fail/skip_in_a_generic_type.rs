//! Skipped fields in a type with a type parameter.

use module_nn::prelude::*;

#[derive(Module)]
struct Net<const N: usize> {
    width: usize,
    #[module(skip)]
    heads: [Linear; N],
}

fn main() {}
