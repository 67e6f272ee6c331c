//! The recipe, and everything that a stopped run needs to resume.

use std::path::Path;

use module_nn::data::{DataLoader, DataLoaderConfig, TensorDataset};
use module_nn::metrics::{Accuracy, MeanMetric, Metric};
use module_nn::optim::PlateauMode;
use module_nn::prelude::*;
use module_nn::rng::default_generator;

use crate::data::{ARMS, spirals};
use crate::model::Spirals;

type Loader = DataLoader<TensorDataset<(Tensor, Tensor)>>;

/// A training run: the model, and what has a state besides it.
pub struct Run {
    model: Spirals,
    optimizer: AdamW,
    schedule: WarmupCosine,
    best: BestSnapshot,
    training: Loader,
    validation: Loader,
    epoch: u64,
}

impl Run {
    /// Prepares a run of `epochs` epochs in a directory, or resumes the one that is there.
    ///
    /// # Errors
    ///
    /// A directory that cannot be made, or a checkpoint that does not belong to this program.
    pub fn new(directory: &Path, epochs: u64) -> Result<Self> {
        manual_seed(0);
        std::fs::create_dir_all(directory)?;
        let model = Spirals::new()?;
        let config = DataLoaderConfig::new().batch_size(32).shuffle(true).seed(1);
        let training = config.build(spirals(256, 10)?)?;
        let validation = DataLoaderConfig::new().batch_size(256).seed(2);
        let validation = validation.build(spirals(64, 20)?)?;
        let mut optimizer = AdamWConfig::new(1e-2).weight_decay(1e-3).build(&model)?;
        let steps = epochs as usize * training.len();
        let schedule = WarmupCosine::new(&mut optimizer, training.len(), steps)?;
        let best = BestSnapshot::new(PlateauMode::Max).save_to(directory.join("best.safetensors"));
        let mut run = Self {
            model,
            optimizer,
            schedule,
            best,
            training,
            validation,
            epoch: 0,
        };
        if directory.join("checkpoint.json").exists() {
            run.resume(&TrainingCheckpoint::load(directory)?)?;
        }
        Ok(run)
    }

    /// Trains up to an epoch, with a checkpoint after each, and returns the validation accuracy.
    ///
    /// # Errors
    ///
    /// A directory that cannot be written.
    pub fn train(&mut self, directory: &Path, epochs: u64) -> Result<f64> {
        while self.epoch < epochs {
            let loss = self.epoch()?;
            let accuracy = self.validate()?;
            self.epoch += 1;
            let epoch = self.epoch;
            println!("epoch {epoch:2}  loss {loss:.4}  validation accuracy {accuracy:.3}");
            self.best.update(accuracy, &self.model)?;
            self.checkpoint()?.save(directory)?;
        }
        self.validate()
    }

    /// One pass over the training data; returns the mean loss.
    fn epoch(&mut self) -> Result<f64> {
        let (criterion, mut mean) = (CrossEntropyLoss::new(), MeanMetric::default());
        self.model.train();
        for batch in &self.training {
            let (points, labels) = batch?;
            let loss = criterion.loss(&self.model.call(points)?, &labels)?;
            self.model.zero_grad();
            loss.backward()?;
            self.optimizer.step(&self.model)?;
            self.schedule.step(&mut self.optimizer)?;
            mean.update(loss)?;
        }
        mean.compute()
    }

    /// The fraction of the validation points whose arm is found.
    fn validate(&self) -> Result<f64> {
        let mut accuracy = Accuracy::new(ARMS)?;
        self.model.eval();
        for batch in &self.validation {
            let (points, labels) = batch?;
            let logits = no_grad(|| self.model.call(points))?;
            accuracy.update(&logits, &labels)?;
        }
        accuracy.value()
    }

    /// Everything that has a state.
    fn checkpoint(&self) -> Result<TrainingCheckpoint> {
        TrainingCheckpoint::new(self.epoch, 0)
            .with("model", &self.model)?
            .with("optimizer", &self.optimizer)?
            .with("schedule", &self.schedule)?
            .with("best", &self.best)?
            .with("data", &self.training)?
            .with("generator", &default_generator())
    }

    fn resume(&mut self, checkpoint: &TrainingCheckpoint) -> Result<()> {
        checkpoint.restore("model", &mut self.model)?;
        checkpoint.restore("optimizer", &mut self.optimizer)?;
        let schedule = checkpoint.restore("schedule", &mut self.schedule)?;
        checkpoint.restore("best", &mut self.best)?;
        checkpoint.restore("data", &mut self.training)?;
        checkpoint.restore("generator", &mut default_generator())?;
        self.epoch = checkpoint.epoch();
        println!("resumes after epoch {}", self.epoch);
        if !schedule.changed.is_empty() {
            println!("the schedule still ends where it was planned to end: {schedule}");
        }
        Ok(())
    }
}
