//! An enum with one unit variant is zero-sized.

use module_nn::prelude::*;

#[derive(Module)]
enum Act {
    Relu,
}

fn main() {}
