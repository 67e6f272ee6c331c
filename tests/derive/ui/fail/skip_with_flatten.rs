//! Members of a field that is not there.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    weight: Parameter,
    #[module(skip, flatten)]
    base: Linear,
}

fn main() {}
