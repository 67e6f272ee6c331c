//! A module without `forward` used as a layer.

use module_nn::prelude::*;

#[derive(Module)]
struct Scale {
    weight: Parameter,
}

fn layer(scale: Scale) -> Box<dyn Layer> {
    Box::new(scale)
}

fn main() {}
