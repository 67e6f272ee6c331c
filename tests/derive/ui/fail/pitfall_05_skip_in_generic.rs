//! The same in a generic struct, and in a variant.

use module_nn::prelude::*;

#[derive(Module)]
enum Net<N> {
    A(N),
    B(#[module(skip)] Linear, N),
}

fn main() {}
