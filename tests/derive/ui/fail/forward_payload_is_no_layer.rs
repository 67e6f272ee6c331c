//! A payload without `forward`.

use module_nn::prelude::*;

#[derive(Module)]
struct Scale {
    weight: Parameter,
}

#[derive(Module, Forward)]
enum Skip {
    Scale(Scale),
    Identity(Identity),
}

fn main() {}
