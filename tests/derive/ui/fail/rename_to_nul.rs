//! A key with a NUL character.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(rename = "fc\0")]
    head: Linear,
}

fn main() {}
