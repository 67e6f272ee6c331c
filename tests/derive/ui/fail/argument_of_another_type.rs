//! A string, as PyTorch takes it, for an argument that is an enum.

use module_nn::prelude::*;

fn conv() -> Result<Conv2d> {
    Conv2dConfig::new(3, 8, 3).padding("same").build()
}

fn main() {}
