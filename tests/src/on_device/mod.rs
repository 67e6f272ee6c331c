//! What is above the device, run on any device: adapters, the audit, hooks and checkpoints. A run records what it sees, and must
//! see the same on every device.

#![allow(clippy::unwrap_used)]

mod adapters;
mod audit;
mod checkpoints;
mod hooks;

use std::fmt::Debug;

use module_nn::prelude::*;

pub use adapters::adapters;
pub use audit::audit;
pub use checkpoints::{checkpoints, resumed};
pub use hooks::hooks;

use crate::golden::{Tolerance, compare};

/// What a run has seen, by name.
#[derive(Default)]
pub struct Seen(Vec<(String, What)>);

enum What {
    /// Is the same on every device.
    Text(String),
    /// Differs between devices by rounding.
    Values(Tensor),
}

impl Seen {
    fn text(&mut self, name: impl Into<String>, text: &(impl Debug + ?Sized)) {
        self.0.push((name.into(), What::Text(format!("{text:?}"))));
    }

    fn values(&mut self, name: impl Into<String>, x: &Tensor) -> Result<()> {
        let x = x.detach().to_device(&Device::cpu())?;
        self.0.push((name.into(), What::Values(x)));
        Ok(())
    }

    /// All parameters and buffers of a model, which must be on the device.
    fn state(&mut self, name: &str, model: &dyn Module, device: &Device) -> Result<()> {
        for (key, value) in &model.state_dict()? {
            assert_eq!(value.device(), *device, "{name} {key}");
            self.values(format!("{name} {key}"), value)?;
        }
        Ok(())
    }

    /// Where this run differs from another one.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut all = Vec::new();
        if self.0.len() != other.0.len() {
            all.push(format!("{} and {} entries", self.0.len(), other.0.len()));
        }
        for ((name, a), (_, b)) in self.0.iter().zip(&other.0) {
            let problem = match (a, b) {
                (What::Text(a), What::Text(b)) if a == b => None,
                (What::Text(a), What::Text(b)) => Some(format!("{a} and {b}")),
                (What::Values(a), What::Values(b)) => compare(a, b, Tolerance::CONTRACTION).err(),
                _ => Some("text and values".to_owned()),
            };
            all.extend(problem.map(|problem| format!("{name}: {problem}")));
        }
        all
    }
}

/// A run, with its name.
pub type Run = fn(&Device) -> Result<Seen>;

/// Every run.
pub const RUNS: [(&str, Run); 5] = [
    ("adapters", adapters),
    ("audit", audit),
    ("hooks", hooks),
    ("checkpoints", checkpoints),
    ("resumed", resumed),
];

/// Where the runs of a device differ from those of the CPU.
///
/// # Errors
///
/// Those of a run.
pub fn differences(device: &Device) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for (name, run) in RUNS {
        let here = fork_rng(0, || run(&Device::cpu()))?;
        let there = fork_rng(0, || run(device))?;
        assert!(!here.0.is_empty(), "{name}");
        let found = there.differences(&here).into_iter();
        all.extend(found.map(|found| format!("{name}: {found}")));
    }
    Ok(all)
}

/// Two layers with normalization between them.
#[derive(Module)]
struct Net {
    first: Linear,
    norm: LayerNorm,
    head: Linear,
    /// Whether a mistake cuts the gradient off.
    #[module(skip)]
    cuts: bool,
}

impl Net {
    /// On a device, with the weights of the seed.
    fn new(device: &Device) -> Result<Self> {
        let model = fork_rng(7, || {
            Ok::<_, Error>(Self {
                first: Linear::new(6, 8)?,
                norm: LayerNorm::new([8])?,
                head: Linear::new(8, 3)?,
                cuts: false,
            })
        })?;
        model.to_device(device)?;
        Ok(model)
    }
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.norm.call(self.first.call(x)?.tanh()?)?;
        self.head.call(if self.cuts { x.detach() } else { x })
    }
}

/// Inputs of a seed, and their classes.
fn batch(seed: u64, device: &Device) -> Result<(Tensor, Tensor)> {
    let (x, y) = fork_rng(seed, || {
        let x = Tensor::randn([16, 6], DType::F32)?;
        Ok::<_, Error>((x, Tensor::randint(0, 3, [16], DType::I64)?))
    })?;
    Ok((x.to_device(device)?, y.to_device(device)?))
}

/// A step of training.
fn train<M>(model: &M, optimizer: &mut dyn Optimizer, (x, y): (Tensor, Tensor)) -> Result<Tensor>
where
    M: Module + Forward<Tensor, Output = Tensor>,
{
    let loss = CrossEntropyLoss::new().loss(&model.call(x)?, &y)?;
    model.zero_grad();
    loss.backward()?;
    optimizer.step(model)?;
    Ok(loss)
}
