//! The same behind a `Box`, in a later variant.

use module_nn::prelude::*;

#[derive(Module)]
struct Scale {
    weight: Parameter,
}

#[derive(Module, Forward)]
enum Skip {
    Identity(Identity),
    Scale(Box<Scale>),
}

fn main() {}
