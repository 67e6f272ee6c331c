//! A copy of a module might or might not share its parameters, and nothing says which.

use module_nn::prelude::*;

#[derive(Module)]
#[derive(Clone)]
struct Net {
    size: usize,
}

fn main() {}
