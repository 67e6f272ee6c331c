//! `Sequential` takes layers, but this module has no `forward`.

use module_nn::prelude::*;

#[derive(Module)]
struct Scale {
    weight: Parameter,
}

fn net(scale: Scale) -> Sequential {
    Sequential::new().push(scale)
}

fn main() {}
