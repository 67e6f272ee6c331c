//! A module without an address of its own.

use module_nn::prelude::*;

#[derive(Module)]
struct Swish;

fn main() {}
