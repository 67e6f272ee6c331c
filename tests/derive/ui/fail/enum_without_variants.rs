//! An enum that has no values.

use module_nn::prelude::*;

#[derive(Module)]
enum Net {}

fn main() {}
