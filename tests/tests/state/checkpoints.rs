//! Checkpoints of several files, saving in the background, and resuming training.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod refused;
mod shards;

use module_core::rng::default_generator;
use module_core::{Generator, RestoreReport, Snapshot};
use module_nn::prelude::*;
use module_tests::files::Scratch;

fn constant(value: f32, len: usize) -> Tensor {
    Tensor::full([len], value, DType::F32).unwrap()
}

fn bytes(state: &StateDict) -> Vec<(String, DType, Shape, Vec<u8>)> {
    let entry = |(key, x): (&str, &Tensor)| {
        let bytes = x.to_host().unwrap().to_le_bytes();
        (key.to_owned(), x.dtype(), x.shape().clone(), bytes)
    };
    let mut entries: Vec<_> = state.iter().map(entry).collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries
}

// In the background.

#[test]
fn a_save_in_the_background_writes_the_state_of_its_call() {
    let scratch = Scratch::directory("checkpoints-async");
    let path = scratch.file("model.safetensors");
    let model = fork_rng(1, || Linear::new(64, 64)).unwrap();
    let before = bytes(&model.state_dict().unwrap());
    let saving = model.save_async(&path).unwrap();
    for parameter in model.parameters() {
        let zeros = parameter.detach().zeros_like().unwrap();
        parameter.set(zeros).unwrap();
    }
    saving.join().unwrap();
    assert_eq!(bytes(&StateDict::load(&path).unwrap()), before);
    // Dropping waits.
    drop(model.save_async(&path).unwrap());
    assert_ne!(bytes(&StateDict::load(&path).unwrap()), before);
}

#[test]
fn errors_of_a_save_in_the_background_arrive() {
    let scratch = Scratch::directory("checkpoints-async-error");
    let state = StateDict::from_iter([("a", constant(1.0, 4))]);
    let saving = state.save_async(scratch.file("none").join("a.safetensors"));
    let message = saving.join().unwrap_err().to_string();
    assert!(message.contains("does not exist"), "{message}");
}

// Resumed training.

#[derive(Module)]
struct Net {
    first: Linear,
    dropout: Dropout,
    last: Linear,
}

/// The same network with its members in a different order.
#[derive(Module)]
struct Reordered {
    last: Linear,
    first: Linear,
    dropout: Dropout,
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let hidden = self.dropout.call(self.first.call(x)?.tanh()?)?;
        self.last.call(hidden)
    }
}

impl Forward for Reordered {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let hidden = self.dropout.call(self.first.call(x)?.tanh()?)?;
        self.last.call(hidden)
    }
}

fn net() -> Net {
    Net {
        first: Linear::new(6, 16).unwrap(),
        dropout: Dropout::new(0.3).unwrap(),
        last: Linear::new(16, 3).unwrap(),
    }
}

fn reordered() -> Reordered {
    Reordered {
        last: Linear::new(16, 3).unwrap(),
        first: Linear::new(6, 16).unwrap(),
        dropout: Dropout::new(0.3).unwrap(),
    }
}

/// Some steps with data, dropout masks and learning rates that the generator draws.
fn train<M>(model: &M, optimizer: &mut dyn Optimizer, steps: std::ops::Range<u64>)
where
    M: Forward<Output = Tensor>,
{
    for step in steps {
        let x = Tensor::randn([8, 6], DType::F32).unwrap();
        model.zero_grad();
        let y = model.call(x).unwrap();
        y.mul(&y).unwrap().mean(..).unwrap().backward().unwrap();
        // A number that JSON must keep to the last bit.
        optimizer.set_lr(1e-2 / (1.0 + 0.1 * step as f64)).unwrap();
        optimizer.step(model).unwrap();
    }
}

fn checkpoint<M: Module, O: Stateful>(model: &M, optimizer: &O) -> TrainingCheckpoint {
    let checkpoint = TrainingCheckpoint::new(2, 10);
    let checkpoint = checkpoint.with("model", model).unwrap();
    let checkpoint = checkpoint.with("optimizer", optimizer).unwrap();
    checkpoint.with("generator", &default_generator()).unwrap()
}

fn resume<M: Module, O: Stateful>(
    checkpoint: &TrainingCheckpoint,
    model: &mut M,
    optimizer: &mut O,
) {
    checkpoint.restore("model", model).unwrap();
    checkpoint.restore("optimizer", optimizer).unwrap();
    let restored = checkpoint.restore("generator", &mut default_generator());
    restored.unwrap();
}

/// The complete state of the training.
fn all<M: Module, O: Stateful>(model: &M, optimizer: &O) -> Vec<(String, DType, Shape, Vec<u8>)> {
    let end = checkpoint(model, optimizer);
    let parts = end
        .names()
        .flat_map(|name| bytes(end.get(name).unwrap().tensors()));
    parts.collect()
}

fn goes_on<O: Optimizer + Stateful>(name: &str, build: impl Fn(&dyn Module) -> Result<O>) {
    let scratch = Scratch::directory(&format!("checkpoints-{name}"));
    let straight = fork_rng(3, || {
        let model = net();
        let mut optimizer = build(&model).unwrap();
        train(&model, &mut optimizer, 0..20);
        all(&model, &optimizer)
    });
    fork_rng(3, || {
        let model = net();
        let mut optimizer = build(&model).unwrap();
        train(&model, &mut optimizer, 0..10);
        let saving = checkpoint(&model, &optimizer).save_async(&scratch.0);
        // Later changes do not reach the checkpoint.
        train(&model, &mut optimizer, 10..12);
        saving.join().unwrap();
    });
    let saved = TrainingCheckpoint::load(&scratch.0).unwrap();
    assert_eq!((saved.epoch(), saved.step()), (2, 10));
    let resumed = fork_rng(99, || {
        let mut model = net();
        let mut optimizer = build(&model).unwrap();
        resume(&saved, &mut model, &mut optimizer);
        train(&model, &mut optimizer, saved.step()..20);
        all(&model, &optimizer)
    });
    assert!(resumed == straight, "{name}");
    let resumed = fork_rng(98, || {
        let mut model = reordered();
        let mut optimizer = build(&model).unwrap();
        // Steps that the resumed state replaces.
        train(&model, &mut optimizer, 0..3);
        resume(&saved, &mut model, &mut optimizer);
        train(&model, &mut optimizer, saved.step()..20);
        all(&model, &optimizer)
    });
    assert!(resumed == straight, "{name}, reordered");
}

#[test]
fn pitfall_31_training_goes_on_bit_for_bit_also_with_fields_reordered() {
    goes_on("adamw", |model| AdamW::new(model, 1e-2));
    goes_on("amsgrad", |model| {
        AdamWConfig::new(1e-2).amsgrad(true).build(model)
    });
    goes_on("sgd", |model| SGD::new(model, 1e-2));
    goes_on("momentum", |model| {
        SGDConfig::new(1e-2)
            .momentum(0.9)
            .nesterov(true)
            .build(model)
    });
}

#[test]
fn a_training_checkpoint_replaces_the_one_before() {
    let scratch = Scratch::directory("checkpoints-replaced");
    std::fs::write(scratch.file("notes.safetensors"), b"").unwrap();
    let model = net();
    let optimizer = AdamW::new(&model, 1e-2).unwrap();
    let mut files = Vec::new();
    for step in 0..4 {
        let checkpoint = TrainingCheckpoint::new(0, step);
        let checkpoint = checkpoint.with("model", &model).unwrap();
        checkpoint
            .with("optimizer", &optimizer)
            .unwrap()
            .save(&scratch.0)
            .unwrap();
        assert_eq!(TrainingCheckpoint::load(&scratch.0).unwrap().step(), step);
        files.push(scratch.names());
    }
    let expected = |generation: usize| {
        let part = |name| format!("{name}.{generation}.safetensors");
        [
            "checkpoint.json".to_owned(),
            part("model"),
            "notes.safetensors".to_owned(),
            part("optimizer"),
        ]
    };
    assert_eq!(
        files,
        [0, 1, 0, 1].map(|generation| expected(generation).to_vec())
    );
}
