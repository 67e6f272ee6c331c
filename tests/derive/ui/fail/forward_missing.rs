//! A module that is used as a layer and computes nothing.

use module_nn::prelude::*;

#[derive(Module)]
struct Scale {
    weight: Parameter,
}

fn layer(scale: Scale) -> Box<dyn Layer> {
    Box::new(scale)
}

fn main() {}
