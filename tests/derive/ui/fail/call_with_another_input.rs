//! A tuple for a layer that takes its masks in a struct.

use module_nn::prelude::*;

fn encode(encoder: &TransformerEncoder, x: Tensor, mask: Tensor) -> Result<Tensor> {
    encoder.call((x, mask))
}

fn main() {}
