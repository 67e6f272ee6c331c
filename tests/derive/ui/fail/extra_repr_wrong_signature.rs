//! A function with the wrong signature.

use module_nn::prelude::*;

#[derive(Module)]
#[module(extra_repr = describe)]
struct Net {
    weight: Parameter,
}

fn describe(_: &Net) -> String {
    String::new()
}

fn main() {}
