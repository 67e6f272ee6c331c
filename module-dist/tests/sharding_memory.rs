//! The bytes of live tensors in each stage, compared with the formulas of `ShardingStage`.
//!
//! Each rank computes on a device of its own, which counts. What is on its way between ranks is in host memory, which is
//! not counted.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::any::Any;

use module_dist::LocalComm;
use module_dist::sharding::{Sharded, ShardingStage};
use module_mirror::{Mirror, counting_mirror};
use module_nn::prelude::*;
use module_nn::with_default_device;

const LAYERS: usize = 12;
const WIDTH: usize = 64;
/// The bytes of the parameters of a layer, and of all.
const LAYER: usize = WIDTH * WIDTH * 4;
const ALL: usize = LAYERS * LAYER;
/// What a forward pass keeps: for each layer its input, and that of the activation behind it.
const ACTIVATIONS: usize = (2 * LAYERS + 4) * WIDTH * 4;

/// The bytes after each phase of a step, and the most within it.
#[derive(Debug)]
struct Used {
    built: usize,
    forward: usize,
    forward_peak: usize,
    backward: usize,
    backward_peak: usize,
    step: usize,
    step_peak: usize,
}

fn measure(ranks: usize, stage: ShardingStage) -> Result<Vec<Used>> {
    LocalComm::run(ranks, |comm| {
        let device = counting_mirror()?;
        let backend: &dyn Any = device.backend();
        let mirror: &Mirror = backend.downcast_ref().unwrap();
        with_default_device(device, || {
            let mut model = Sequential::new();
            for _ in 0..LAYERS {
                let layer = LinearConfig::new(WIDTH, WIDTH).bias(false).build()?;
                model = model.push(layer).push(Tanh::new());
            }
            model.to_device(&device)?;
            let sharded = Sharded::new(&model, comm.clone(), stage)?;
            let mut optimizer = AdamW::new(sharded.shards(), 1e-3)?;
            let mut used = None;
            // The first step makes the optimizer's state.
            for _ in 0..3 {
                sharded.zero_grad();
                let x = Tensor::ones([1, WIDTH], (DType::F32, &device))?;
                let built = mirror.live_bytes() - x.nbytes();
                mirror.take_peak_bytes();
                let loss = model.call(x)?.square()?.mean(..)?;
                let (forward, forward_peak) = (mirror.live_bytes(), mirror.take_peak_bytes());
                sharded.backward(&loss)?;
                drop(loss);
                let (backward, backward_peak) = (mirror.live_bytes(), mirror.take_peak_bytes());
                sharded.step(&mut optimizer)?;
                let (step, step_peak) = (mirror.live_bytes(), mirror.take_peak_bytes());
                used = Some(Used {
                    built,
                    forward,
                    forward_peak,
                    backward,
                    backward_peak,
                    step,
                    step_peak,
                });
            }
            Ok(used.unwrap())
        })
    })
}

/// Checks that `found` is what the formula says, up to activations and a number of copies of one layer.
fn check(what: &str, found: usize, formula: usize, layers: usize) {
    assert!(
        found >= formula,
        "{what}: {found} bytes, and the formula says {formula}"
    );
    let most = formula + layers * LAYER + ACTIVATIONS;
    assert!(
        found <= most,
        "{what}: {found} bytes, more than {most}; the formula says {formula}"
    );
}

#[test]
fn each_stage_uses_the_memory_of_its_formula() -> Result<()> {
    for ranks in [1, 2, 4] {
        let part = ALL / ranks;
        for (stage, parameters, gradients) in [
            (ShardingStage::OptimizerState, ALL, ALL),
            (ShardingStage::Gradients, ALL, part),
            (ShardingStage::Parameters, part, part),
        ] {
            for (rank, used) in measure(ranks, stage)?.iter().enumerate() {
                let what = |phase: &str| format!("{stage}, rank {rank} of {ranks}, {phase}");
                let kept = parameters + 2 * part;
                println!("{}: {used:?}", what("all"));
                // Between steps, without gradients, and then with them: exactly.
                assert_eq!(used.built, kept, "{}", what("before the step"));
                assert_eq!(
                    used.backward,
                    kept + gradients,
                    "{}",
                    what("after the backward pass")
                );
                assert_eq!(used.step, kept + gradients, "{}", what("after the step"));
                check(&what("after the forward pass"), used.forward, kept, 0);
                // A gathered layer: the ranks' parts, and the whole.
                check(&what("in the forward pass"), used.forward_peak, kept, 3);
                // A gathered layer, its gradient, and what is reduced.
                check(
                    &what("in the backward pass"),
                    used.backward_peak,
                    kept + gradients,
                    6,
                );
                // The parts that the step moves and their gradients, if the model has both.
                let moved = match stage {
                    ShardingStage::OptimizerState => 2 * part,
                    ShardingStage::Gradients => part,
                    ShardingStage::Parameters => 0,
                };
                check(
                    &what("in the step"),
                    used.step_peak,
                    kept + gradients + moved,
                    4,
                );
            }
        }
    }
    Ok(())
}
