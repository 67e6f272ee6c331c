//! One test for each silent failure of real networks, named after its number in the list.
//!
//! Failures that do not compile are under `derive/ui/fail`; those here appear at run time.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod arguments;
mod freezing;
mod hooks;
mod members;
mod saving;
mod stored;
mod table;
mod training;

use module_nn::prelude::*;
use module_tests::golden::{Tolerance, compare};

/// Two layers with a norm between them.
#[derive(Module)]
struct Net {
    hidden: Linear,
    norm: BatchNorm1d,
    head: Linear,
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.norm.call(self.hidden.call(x)?)?.relu()?;
        self.head.call(x)
    }
}

fn net() -> Net {
    Net {
        hidden: Linear::new(3, 4).unwrap(),
        norm: BatchNorm1d::new(4).unwrap(),
        head: Linear::new(4, 2).unwrap(),
    }
}

fn images(seed: u64) -> Tensor {
    fork_rng(seed, || Tensor::randn([5, 3], DType::F32)).unwrap()
}

/// One backward pass, which leaves gradients.
fn backward<M: Call<Tensor, Output = Tensor>>(model: &M, x: Tensor) {
    let y = model.call(x).unwrap();
    let loss = y.mul(&y).unwrap().sum(..).unwrap();
    loss.backward().unwrap();
}

fn step(model: &Net, optimizer: &mut dyn Optimizer) {
    model.zero_grad();
    backward(model, images(1));
    optimizer.step(model).unwrap();
}

/// The keys whose tensors differ in any bit.
fn changed(before: &StateDict, after: &StateDict) -> Vec<String> {
    assert!(before.keys().eq(after.keys()));
    let differs = |(key, value): &(&str, &Tensor)| {
        compare(value, before.get(key).unwrap(), Tolerance::EXACT).is_err()
    };
    let keys = after.iter().filter(differs);
    keys.map(|(key, _)| key.to_owned()).collect()
}
