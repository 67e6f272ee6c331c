//! `benches/derived.rs`, written for Burn.

use burn::module::{Module, Param};
use burn::nn::{Linear, Relu};
use burn::tensor::Tensor;

/// The nested struct.
#[derive(Module, Debug)]
pub struct Block {
    linear: Linear,
}

// Each struct:

/// A struct of eight fields.
#[derive(Module, Debug)]
pub struct Net {
    first: Linear,
    second: Linear,
    third: Linear,
    block: Block,
    activation: Relu,
    scale: Param<Tensor<1>>,
    size: usize,
    rate: f64,
}

/// Uses it: counts its parameters.
pub fn count_net(net: &Net) -> usize {
    net.num_params()
}

// Saved and loaded:

/// Uses it: saves and loads it.
pub fn reload_net(net: Net) -> Net {
    let record = net.clone().into_record();
    net.load_record(record)
}
