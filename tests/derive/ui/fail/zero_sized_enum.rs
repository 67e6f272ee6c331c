//! An enum with one unit variant has no size.

use module_nn::prelude::*;

#[derive(Module)]
enum Act {
    Relu,
}

fn main() {}
