//! A flattened child, whose type is behind an alias, has the key of a renamed field.

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
