//! Adapters: PEFT's results, and properties that must hold in any model.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod golden;
mod merging;
mod pitfalls;
mod qlora;
mod recurrent;
mod refusing;
mod structure;
mod switching;

use module_nn::lora::{self, InitLoraWeights, LoraConfig};
use module_nn::prelude::*;
use module_tests::golden::{Tolerance, compare};

/// The counterpart of `Net` in `tests/golden/lora.py`.
#[derive(Module)]
struct Net {
    query: Linear,
    value: Linear,
    norm: LayerNorm,
    head: Linear,
}

impl Net {
    fn new() -> Self {
        Self {
            query: Linear::new(6, 5).unwrap(),
            value: LinearConfig::new(5, 4).bias(false).build().unwrap(),
            norm: LayerNorm::new(4).unwrap(),
            head: Linear::new(4, 3).unwrap(),
        }
    }
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.value.call(self.query.call(x)?.tanh()?)?;
        self.head.call(self.norm.call(x)?)
    }
}

/// A configuration whose adapter changes the outputs immediately.
fn random(r: usize) -> LoraConfig {
    LoraConfig::new()
        .r(r)
        .init_lora_weights(InitLoraWeights::Random)
}

/// A net with adapters on its linear layers.
fn adapted() -> Net {
    let mut net = Net::new();
    lora::add_adapter(&mut net, "default", ["query", "value"], &random(2)).unwrap();
    net
}

fn input() -> Tensor {
    fork_rng(3, || Tensor::randn([2, 6], DType::F32)).unwrap()
}

#[track_caller]
fn assert_close(actual: &Tensor, expected: &Tensor, what: &str) {
    if let Err(difference) = compare(actual, expected, Tolerance::CONTRACTION) {
        panic!("{what}: {difference}");
    }
}

#[track_caller]
fn assert_same(actual: &Tensor, expected: &Tensor, what: &str) {
    if let Err(difference) = compare(actual, expected, Tolerance::EXACT) {
        panic!("{what}: {difference}");
    }
}

/// Whether two tensors differ visibly.
fn differs(x: &Tensor, y: &Tensor) -> bool {
    compare(x, y, Tolerance::CONTRACTION).is_err()
}

/// The keys and values of a state dict whose tensors are copies.
fn snapshot(model: &dyn Module) -> StateDict {
    let state = model.state_dict().unwrap();
    state
        .iter()
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect()
}
