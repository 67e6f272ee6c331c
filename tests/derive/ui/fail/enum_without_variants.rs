//! An enum of which there is no value.

use module_nn::prelude::*;

#[derive(Module)]
enum Net {}

fn main() {}
