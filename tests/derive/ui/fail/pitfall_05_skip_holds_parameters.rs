//! A parameter that `skip` would hide.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    fc: Linear,
    #[module(skip)]
    scales: Vec<Parameter>,
}

fn main() {}
