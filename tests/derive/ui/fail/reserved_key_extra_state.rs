//! The key for PyTorch's state other than tensors.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    _extra_state: Buffer,
}

#[derive(Module)]
enum Norm {
    Affine { #[module(rename = "_extra_state")] weight: Parameter },
}

fn main() {}
