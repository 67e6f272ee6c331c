//! The duplicate key comes from a child that is flattened into a flattened child.

use module_nn::prelude::*;

#[derive(Module)]
struct Inner {
    weight: Parameter,
}

#[derive(Module)]
struct Middle {
    #[module(flatten)]
    inner: Inner,
    bias: Parameter,
}

#[derive(Module)]
struct Net {
    weight: Parameter,
    #[module(flatten)]
    middle: Middle,
}

fn main() {}
