//! The key under which PyTorch saves what is no tensor.

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
