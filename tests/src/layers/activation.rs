//! The entries of activations.

use module_nn::prelude::*;

use super::{Entry, layer, plain};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        plain("ReLU", ReLU::new),
        layer("CELU", CELU::config),
        layer("ELU", ELU::config),
        layer("GELU", GELU::config),
        layer("GLU", GLU::config),
        layer("Hardshrink", Hardshrink::config),
        plain("Hardsigmoid", Hardsigmoid::new),
        plain("Hardswish", Hardswish::new),
        layer("Hardtanh", Hardtanh::config),
        layer("LeakyReLU", LeakyReLU::config),
        plain("LogSigmoid", LogSigmoid::new),
        layer("LogSoftmax", LogSoftmax::config),
        plain("Mish", Mish::new),
        layer("PReLU", PReLU::config),
        plain("ReLU6", ReLU6::new),
        layer("RReLU", RReLU::config),
        plain("SELU", SELU::new),
        plain("Sigmoid", Sigmoid::new),
        plain("SiLU", SiLU::new),
        layer("Softmax", Softmax::config),
        plain("Softmax2d", Softmax2d::new),
        layer("Softmin", Softmin::config),
        layer("Softplus", Softplus::config),
        layer("Softshrink", Softshrink::config),
        plain("Softsign", Softsign::new),
        plain("Tanh", Tanh::new),
        plain("Tanhshrink", Tanhshrink::new),
        layer("Threshold", Threshold::config),
    ]
}
