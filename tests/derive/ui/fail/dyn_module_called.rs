//! Calls to modules of different types in a list.

use module_nn::prelude::*;

fn run(layers: &[Box<dyn Module>], mut x: Tensor) -> Result<Tensor> {
    for layer in layers {
        x = layer.call(x)?;
    }
    Ok(x)
}

fn main() {}
