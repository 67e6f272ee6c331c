//! Networks that train correctly, with no findings.

mod adapters;
mod adversarial;
mod contrasts;
mod experts;
mod generative;
mod losses;
mod parametrized;
mod parts;
mod recipes;
mod sequences;
mod starts;
mod unusual;
mod vision;

use module_nn::prelude::*;

use super::support::{audited, classes, rows, step};

/// Audits two training steps for each of five seeds, and expects no findings. A function builds the training and draws from
/// the default generator.
fn healthy<M: Module, S>(build: impl Fn() -> Result<(M, S)>)
where
    S: FnMut(&M) -> Result<Tensor>,
{
    healthy_over(5, build);
}

/// The same for this many seeds.
fn healthy_over<M: Module, S>(seeds: u64, build: impl Fn() -> Result<(M, S)>)
where
    S: FnMut(&M) -> Result<Tensor>,
{
    for seed in 0..seeds {
        let report = fork_rng(seed, || {
            let (model, mut step) = build()?;
            audited(&model, || step(&model))
        });
        let report = report.unwrap();
        assert!(report.findings().is_empty(), "seed {seed}\n{report}");
    }
}

/// A network of two linear layers.
fn mlp(inputs: usize, hidden: usize, outputs: usize) -> Result<Sequential> {
    Ok(Sequential::new()
        .push(Linear::new(inputs, hidden)?)
        .push(ReLU::new())
        .push(Linear::new(hidden, outputs)?))
}
