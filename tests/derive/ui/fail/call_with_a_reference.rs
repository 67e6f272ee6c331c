//! A call that borrows a tensor because it is needed later.

use module_nn::prelude::*;

fn residual(layer: &Linear, x: Tensor) -> Result<Tensor> {
    layer.call(&x)? + x
}

fn main() {}
