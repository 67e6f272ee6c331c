//! A union as an input.

use module_nn::prelude::*;

#[derive(Tensors)]
union Input {
    a: f32,
    b: u32,
}

fn main() {}
