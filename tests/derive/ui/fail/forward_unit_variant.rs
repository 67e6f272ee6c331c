//! A variant without a payload.

use module_nn::prelude::*;

#[derive(Module, Forward)]
enum Skip {
    Project(Linear),
    Nothing,
}

fn main() {}
