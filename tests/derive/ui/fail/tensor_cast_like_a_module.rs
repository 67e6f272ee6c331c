//! A tensor that is cast by a method of modules.

use module_nn::prelude::*;

fn widen(x: Tensor) -> Result<Tensor> {
    x.float()
}

fn main() {}
