//! A flattened child brings a key that another field was given, from a type behind an alias.

use module_nn::prelude::*;

type Weight = Parameter;

#[derive(Module)]
struct Base {
    #[module(rename = "gamma")]
    weight: Weight,
}

type Alias = Base;

#[derive(Module)]
struct Net {
    #[module(flatten)]
    base: Alias,
    #[module(rename = "gamma")]
    head: Linear,
}

fn main() {}
