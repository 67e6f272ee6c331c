//! A union.

use module_nn::prelude::*;

#[derive(Module)]
union Net {
    a: f32,
    b: u32,
}

fn main() {}
