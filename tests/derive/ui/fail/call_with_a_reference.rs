//! A tensor that is needed after the call.

use module_nn::prelude::*;

fn residual(layer: &Linear, x: Tensor) -> Result<Tensor> {
    layer.call(&x)? + x
}

fn main() {}
