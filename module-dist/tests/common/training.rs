//! A run that can be killed and resumed: dropout with a stream for each rank, checkpoints every few steps.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use module_dist::{Comm, DataParallelConfig, PerRank, load_checkpoint, rank_seed, save_checkpoint};
use module_nn::data::{DistributedSampler, Sampler};
use module_nn::prelude::*;
use module_nn::rng::default_generator;

use module_examples::Digits;

pub const STEPS: u64 = 24;
const EVERY: u64 = 4;
const BATCH: usize = 8;

#[derive(Module)]
struct Net {
    hidden: Linear,
    dropout: Dropout,
    head: Linear,
}

impl Net {
    fn new() -> Result<Self> {
        fork_rng(5, || {
            Ok(Self {
                hidden: Linear::new(64, 16)?,
                dropout: Dropout::new(0.2)?,
                head: Linear::new(16, 10)?,
            })
        })
    }

    fn loss(&self, images: &Tensor, labels: &Tensor) -> Result<Tensor> {
        let hidden = self.hidden.call(images.flatten(1, -1)?)?.relu()?;
        let logits = self.head.call(self.dropout.call(hidden)?)?;
        CrossEntropyLoss::new().loss(&logits, labels)
    }
}

/// Trains to `STEPS` from the last checkpoint in a directory, if any. `before` is called in every step, where it may fail,
/// panic or hang; `pause` makes steps longer. Returns the parameters in one vector.
pub fn train(
    comm: &Arc<dyn Comm>,
    directory: &Path,
    pause: Duration,
    before: impl Fn(u64) -> Result<()>,
) -> Result<Vec<f32>> {
    fork_rng(rank_seed(9, comm.rank()), || {
        let mut model = Net::new()?;
        let config = DataParallelConfig::new()
            .first_bucket_bytes(1 << 10)
            .check_every(5);
        let parallel = config.build(&model, comm.clone())?;
        let mut optimizer = AdamConfig::new(0.01).build(&model)?;
        let digits = Digits::read()?;
        let sampler = DistributedSampler::new(digits.len(), comm.size(), comm.rank())?;
        let order = sampler.indices()?;
        let mut first = 0;
        if let Some(checkpoint) = load_checkpoint(&**comm, directory)? {
            checkpoint.restore("model", &mut model)?;
            checkpoint.restore("optimizer", &mut optimizer)?;
            PerRank::restore(&**comm, &checkpoint, "generators", &mut default_generator())?;
            first = checkpoint.step();
            parallel.set_steps(first);
        }
        for step in first..STEPS {
            before(step)?;
            std::thread::sleep(pause);
            let at = (0..BATCH).map(|i| order[(step as usize * BATCH + i) % order.len()] as i64);
            let batch = digits.select(&Tensor::from(at.collect::<Vec<_>>()))?;
            model.zero_grad();
            parallel.backward(&model.loss(&batch.images, &batch.labels)?)?;
            optimizer.step(&model)?;
            let done = step + 1;
            if done.is_multiple_of(EVERY) {
                let generators = PerRank::gather(&**comm, &default_generator())?;
                let checkpoint = TrainingCheckpoint::new(0, done).with("model", &model)?;
                let checkpoint = checkpoint.with("optimizer", &optimizer)?;
                let checkpoint = checkpoint.with("generators", &generators)?;
                save_checkpoint(&**comm, &checkpoint, directory)?;
            }
        }
        let values = model.parameters().map(|it| it.detach().to_vec::<f32>());
        Ok(values.collect::<Result<Vec<_>>>()?.concat())
    })
}
