//! An input field in which hooks cannot see tensors.

use module_nn::prelude::*;

#[derive(Tensors)]
struct Input {
    rows: Tensor,
    source: std::path::PathBuf,
}

fn main() {}
