//! Modules of different types that are called one after the other.

use module_nn::prelude::*;

fn run(layers: &[Box<dyn Module>], mut x: Tensor) -> Result<Tensor> {
    for layer in layers {
        x = layer.call(x)?;
    }
    Ok(x)
}

fn main() {}
