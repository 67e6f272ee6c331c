//! What `skip` hides in a type that depends on a parameter.

use module_nn::prelude::*;

#[derive(Module)]
struct Net<const N: usize> {
    width: usize,
    #[module(skip)]
    heads: [Linear; N],
}

fn main() {}
