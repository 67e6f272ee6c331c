use module_nn::prelude::*;

use super::{Entry, NoArguments, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("ReLU", |_: &NoArguments| Ok(ReLU::new())),
        layer("CELU", CELUConfig::build),
        layer("ELU", ELUConfig::build),
        layer("GELU", GELUConfig::build),
        layer("GLU", GLUConfig::build),
        layer("Hardshrink", HardshrinkConfig::build),
        layer("Hardsigmoid", |_: &NoArguments| Ok(Hardsigmoid::new())),
        layer("Hardswish", |_: &NoArguments| Ok(Hardswish::new())),
        layer("Hardtanh", HardtanhConfig::build),
        layer("LeakyReLU", LeakyReLUConfig::build),
        layer("LogSigmoid", |_: &NoArguments| Ok(LogSigmoid::new())),
        layer("LogSoftmax", LogSoftmaxConfig::build),
        layer("Mish", |_: &NoArguments| Ok(Mish::new())),
        layer("PReLU", PReLUConfig::build),
        layer("ReLU6", |_: &NoArguments| Ok(ReLU6::new())),
        layer("RReLU", RReLUConfig::build),
        layer("SELU", |_: &NoArguments| Ok(SELU::new())),
        layer("Sigmoid", |_: &NoArguments| Ok(Sigmoid::new())),
        layer("SiLU", |_: &NoArguments| Ok(SiLU::new())),
        layer("Softmax", SoftmaxConfig::build),
        layer("Softmax2d", |_: &NoArguments| Ok(Softmax2d::new())),
        layer("Softmin", SoftminConfig::build),
        layer("Softplus", SoftplusConfig::build),
        layer("Softshrink", SoftshrinkConfig::build),
        layer("Softsign", |_: &NoArguments| Ok(Softsign::new())),
        layer("Tanh", |_: &NoArguments| Ok(Tanh::new())),
        layer("Tanhshrink", |_: &NoArguments| Ok(Tanhshrink::new())),
        layer("Threshold", ThresholdConfig::build),
    ]
}
