//! A copy of a module would share its parameters, or not, and nobody said which.

use module_nn::prelude::*;

#[derive(Module)]
#[derive(Clone)]
struct Net {
    size: usize,
}

fn main() {}
