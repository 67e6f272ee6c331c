//! Checkpoints of several files, saving in the background, and resuming training.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::path::PathBuf;

use module_core::rng::default_generator;
use module_core::{Generator, RestoreReport, Snapshot};
use module_nn::prelude::*;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("checkpoints-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.0).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

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

// Shards.

#[test]
fn shards_hold_what_was_saved() {
    let scratch = Scratch::new("shards");
    let tied = constant(7.0, 10);
    let state = StateDict::from_iter([
        ("b", constant(1.0, 10)),
        ("a", tied.clone()),
        ("large", constant(2.0, 100)),
        ("c", constant(3.0, 5)),
        ("step", Tensor::from(5_i64)),
        ("tied", tied.clone()),
        ("empty", constant(0.0, 0)),
        (
            "transposed",
            Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]).t().unwrap(),
        ),
    ]);
    for (limit, shards) in [(1, 7), (40, 5), (80, 3), (400, 3), (1 << 30, 1)] {
        let directory = scratch.file(&format!("of-{limit}"));
        state.save_sharded(&directory, limit).unwrap();
        let files = std::fs::read_dir(&directory).unwrap().count();
        assert_eq!(files, shards + 1, "{limit}");
        let index = directory.join("model.safetensors.index.json");
        for path in [&directory, &index] {
            assert_eq!(bytes(&StateDict::load(path).unwrap()), bytes(&state));
        }
        let loaded = StateDict::load(&directory).unwrap();
        let (a, tied) = (loaded.get("a").unwrap(), loaded.get("tied").unwrap());
        assert!(a.shares_memory_with(tied));
    }
    // Equal states give equal files.
    let read = |name: &str| std::fs::read(scratch.file("of-40").join(name)).unwrap();
    let index = "model.safetensors.index.json";
    let (shard, before) = ("model-00002-of-00005.safetensors", read(index));
    let first = read(shard);
    std::fs::remove_dir_all(scratch.file("of-40")).unwrap();
    state.save_sharded(scratch.file("of-40"), 40).unwrap();
    assert_eq!((read(index), read(shard)), (before, first));
}

#[test]
fn no_old_shard_is_written_and_none_stays() {
    let scratch = Scratch::new("again");
    let of = |value: f32, n: usize| {
        let tensors = (0..n).map(|i| (format!("t{i}"), constant(value, 4)));
        StateDict::from_iter(tensors)
    };
    of(0.0, 2).save_sharded(&scratch.0, 16).unwrap();
    // A user's file, and remains of a killed save.
    std::fs::write(scratch.file("config.json"), b"{}").unwrap();
    std::fs::write(scratch.file("model-notes.safetensors"), b"").unwrap();
    std::fs::write(scratch.file("model.3-00001-of-00002.safetensors"), b"").unwrap();
    let kept = [
        "config.json",
        "model-notes.safetensors",
        "model.safetensors.index.json",
    ];
    for (round, n) in [(1, 2), (2, 3), (3, 3), (4, 1), (5, 3)] {
        // Tensors borrow from the files that are replaced.
        let old = StateDict::load(&scratch.0).unwrap();
        of(f32::from(round as u8), n)
            .save_sharded(&scratch.0, 16)
            .unwrap();
        assert!(
            old.iter()
                .all(|(_, x)| x.to_vec::<f32>().unwrap() == [f32::from(round as u8 - 1); 4])
        );
        let new = StateDict::load(&scratch.0).unwrap();
        assert_eq!(bytes(&new), bytes(&of(f32::from(round as u8), n)));
        let names = scratch.names();
        assert_eq!(names.len(), n + kept.len(), "{names:?}");
        assert!(
            kept.iter()
                .all(|name| names.iter().any(|found| found == name))
        );
    }
}

#[test]
fn shards_are_refused_where_readers_would_not_find_them() {
    let scratch = Scratch::new("beside");
    let state = StateDict::from_iter([("a", constant(1.0, 4))]);
    assert!(
        StateDict::load(&scratch.0)
            .unwrap_err()
            .to_string()
            .contains("none of")
    );
    state.save(scratch.file("model.safetensors")).unwrap();
    assert_eq!(StateDict::load(&scratch.0).unwrap().len(), 1);
    let message = state.save_sharded(&scratch.0, 16).unwrap_err().to_string();
    assert!(message.contains("model.safetensors"), "{message}");
    assert_eq!(scratch.names(), ["model.safetensors"]);
    assert!(state.save_sharded(scratch.file("sub"), 0).is_err());
    assert!(
        state
            .save_sharded(scratch.file("none").join("sub"), 16)
            .is_err()
    );
    state.save_sharded(scratch.file("sub"), 16).unwrap();
    state
        .save(scratch.file("sub").join("model.safetensors"))
        .unwrap();
    let message = StateDict::load(scratch.file("sub"))
        .unwrap_err()
        .to_string();
    assert!(message.contains("a file and an index"), "{message}");
}

#[test]
fn names_that_the_metadata_needs_are_no_ties() {
    let scratch = Scratch::new("names");
    let path = scratch.file("state.safetensors");
    let tensor = constant(3.0, 4);
    let state = ["a", "format", "total_size"].map(|key| (key, tensor.clone()));
    let state = StateDict::from_iter(state);
    state.save(&path).unwrap();
    assert_eq!(bytes(&StateDict::load(&path).unwrap()), bytes(&state));
    state.save_sharded(scratch.file("sub"), 16).unwrap();
    assert_eq!(
        bytes(&StateDict::load(scratch.file("sub")).unwrap()),
        bytes(&state)
    );
    let state = StateDict::from_iter([("__metadata__", tensor)]);
    assert!(
        state
            .save(&path)
            .unwrap_err()
            .to_string()
            .contains("rename")
    );
}

// In the background.

#[test]
fn a_save_in_the_background_writes_the_state_of_its_call() {
    let scratch = Scratch::new("async");
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
    let scratch = Scratch::new("async-error");
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
    let scratch = Scratch::new(name);
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
    let scratch = Scratch::new("replaced");
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

#[test]
fn states_of_something_else_change_nothing() {
    let model = net();
    let mut optimizer = AdamW::new(&model, 1e-2).unwrap();
    fork_rng(1, || train(&model, &mut optimizer, 0..2));
    let before = bytes(optimizer.state().unwrap().tensors());
    let mut refuse = |state: &Snapshot, words: &str| {
        let message = optimizer.load_state(state).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
        assert_eq!(bytes(optimizer.state().unwrap().tensors()), before);
        assert_eq!(optimizer.lr(), 1e-2 / 1.1);
    };
    refuse(&model.state().unwrap(), "parameters");
    let other = Sequential::new().push(Linear::new(6, 16).unwrap());
    let other = AdamW::new(&other, 0.5).unwrap();
    refuse(&other.state().unwrap(), "0.");
    let part = AdamW::new(&model.first, 0.5).unwrap();
    refuse(&part.state().unwrap(), "weight");
    let max = AdamWConfig::new(0.5).amsgrad(true).build(&model);
    let state = |optimizer: &AdamW, edit: &dyn Fn(&mut StateDict)| {
        let state = optimizer.state().unwrap();
        let mut tensors = state.tensors().clone();
        edit(&mut tensors);
        let config: serde_json::Value = state.get("config").unwrap();
        let paths: Vec<String> = state.get("parameters").unwrap();
        Snapshot::new(tensors)
            .with("config", &config)
            .unwrap()
            .with("parameters", &paths)
            .unwrap()
    };
    let trained = net();
    let mut trained_optimizer = AdamW::new(&trained, 0.5).unwrap();
    fork_rng(2, || train(&trained, &mut trained_optimizer, 0..2));
    let edited = |edit: &dyn Fn(&mut StateDict)| state(&trained_optimizer, edit);
    let remove = |key: &'static str| edited(&move |tensors| drop(tensors.remove(key)));
    refuse(&remove("first.weight.exp_avg"), "`exp_avg` is missing");
    refuse(&remove("last.bias.step"), "`step` is missing");
    let put =
        |key: &'static str, x: Tensor| edited(&move |tensors| drop(tensors.insert(key, x.clone())));
    refuse(&put("first.weight.exp_avg", constant(0.0, 3)), "shape");
    refuse(
        &put("first.weight.step", Tensor::from(-1_i64)),
        "`step` is -1",
    );
    refuse(&put("first.weight.step", Tensor::from(1.0_f32)), "`step`");
    refuse(
        &put(
            "first.weight.momentum",
            constant(0.0, 96).reshape([16, 6]).unwrap(),
        ),
        "momentum",
    );
    refuse(
        &put("second.weight.step", Tensor::from(1_i64)),
        "no parameter",
    );
    let with_max = edited(&|_| {}).with("config", &AdamWConfig::new(0.5).amsgrad(true));
    refuse(&with_max.unwrap(), "max_exp_avg_sq");
    let wrong = edited(&|_| {}).with("config", &AdamWConfig::new(-1.0));
    refuse(&wrong.unwrap(), "lr");
    drop(max);

    let mut generator = Generator::new(5);
    let state = Snapshot::new(StateDict::from_iter([("state", Tensor::from([1_u8, 2]))]));
    assert!(generator.load_state(&state).is_err());
    assert!(generator.load_state(&Snapshot::default()).is_err());
    assert_eq!(generator, Generator::new(5));
}

#[test]
fn the_state_of_another_optimizer_is_called_so() {
    let model = net();
    let mut adamw = AdamW::new(&model, 1e-2).unwrap();
    let mut sgd = SGDConfig::new(1e-2).momentum(0.9).build(&model).unwrap();
    fork_rng(1, || {
        train(&model, &mut adamw, 0..2);
        train(&model, &mut sgd, 0..2);
    });
    let checkpoint = TrainingCheckpoint::new(0, 0).with("adamw", &adamw).unwrap();
    let checkpoint = checkpoint.with("sgd", &sgd).unwrap();
    let checkpoint = checkpoint.with("model", &model).unwrap();
    let before = [sgd.state().unwrap(), adamw.state().unwrap()].map(|s| bytes(s.tensors()));
    let message = |result: Result<RestoreReport>| result.unwrap_err().to_string();
    assert_eq!(
        message(checkpoint.restore("adamw", &mut sgd)),
        "load_state: state = AdamW: it is the state of AdamW, and this is SGD; build the optimizer \
         that was saved, or start this one without a state"
    );
    let other = message(checkpoint.restore("sgd", &mut adamw));
    assert!(
        other.contains("it is the state of SGD, and this is AdamW"),
        "{other}"
    );
    let none = message(checkpoint.restore("model", &mut sgd));
    assert!(
        none.contains("it is the state of no optimizer, and this is SGD"),
        "{none}"
    );
    // Checkpoints that do not name the optimizer are identified by its configuration.
    let state = adamw.state().unwrap();
    let config: serde_json::Value = state.get("config").unwrap();
    let paths: Vec<String> = state.get("parameters").unwrap();
    let unnamed = Snapshot::new(state.tensors().clone());
    let unnamed = unnamed.with("config", &config).unwrap();
    let unnamed = unnamed.with("parameters", &paths).unwrap();
    let old = sgd.load_state(&unnamed).unwrap_err().to_string();
    assert!(
        old.contains("its configuration is not one of SGD") && old.contains("unknown field"),
        "{old}"
    );
    adamw.load_state(&unnamed).unwrap();
    let after = [sgd.state().unwrap(), adamw.state().unwrap()].map(|s| bytes(s.tensors()));
    assert!(before == after);
}

#[test]
fn restoring_says_which_hyperparameters_are_others() {
    let model = net();
    let mut saved = AdamWConfig::new(1e-2)
        .weight_decay(0.1)
        .build(&model)
        .unwrap();
    saved.set_lr(3e-3).unwrap();
    let checkpoint = TrainingCheckpoint::new(0, 0)
        .with("optimizer", &saved)
        .unwrap();
    let checkpoint = checkpoint.with("model", &model).unwrap();
    let restore = |config: AdamWConfig| {
        let mut optimizer = config.build(&model).unwrap();
        let report = checkpoint.restore("optimizer", &mut optimizer).unwrap();
        assert_eq!(optimizer.lr(), 3e-3);
        report
    };
    let same = restore(AdamWConfig::new(3e-3).weight_decay(0.1));
    assert_eq!(same, RestoreReport::default());
    assert_eq!(same.to_string(), "restored");
    let other = restore(AdamWConfig::new(5e-4).betas((0.8, 0.999)).weight_decay(0.1));
    assert_eq!(
        other.to_string(),
        "restored; betas was [0.8,0.999] and is [0.9,0.999], lr was 0.0005 and is 0.003"
    );
    let names: Vec<&str> = other.changed.iter().map(|setting| &*setting.name).collect();
    assert_eq!(names, ["betas", "lr"]);
    // A model has no configuration, and its hooks are not called.
    let mut model = net();
    let report = checkpoint.restore("model", &mut model).unwrap();
    assert_eq!(report.to_string(), "restored");
}

#[test]
fn wrong_checkpoints_are_named() {
    let scratch = Scratch::new("wrong");
    let model = net();
    let empty = TrainingCheckpoint::new(0, 0);
    for name in ["", "a.b", "../x", "a/b", "ä", "a b"] {
        assert!(empty.clone().with(name, &model).is_err(), "{name}");
    }
    let one = empty.with("model", &model).unwrap();
    assert!(one.clone().with("Model", &model).is_err());
    let message = one.get("modle").unwrap_err().to_string();
    assert!(message.contains("did you mean `model`"), "{message}");

    assert!(TrainingCheckpoint::load(&scratch.0).is_err());
    one.save(&scratch.0).unwrap();
    let index = scratch.file("checkpoint.json");
    let text = std::fs::read_to_string(&index).unwrap();
    let refuse = |text: &[u8]| {
        std::fs::write(&index, text).unwrap();
        let error = TrainingCheckpoint::load(&scratch.0).unwrap_err();
        let typed = matches!(
            error.downcast_ref(),
            Some(FileError::Format { .. } | FileError::File { .. })
        );
        assert!(typed, "{error}");
    };
    for end in 0..text.trim_end().len() {
        refuse(&text.as_bytes()[..end]);
    }
    for (from, to) in [
        ("\"version\": 1", "\"version\": 2"),
        ("\"version\": 1", "\"version\": 1, \"version\": 1"),
        ("\"epoch\": 0", "\"epoch\": -1"),
        ("\"epoch\": 0", "\"epoch\": 0.5"),
        ("model.0.safetensors", "../model.0.safetensors"),
        ("model.0.safetensors", "/etc/passwd"),
        ("model.0.safetensors", "checkpoint.json"),
        ("model.0.safetensors", "model.1.safetensors"),
        (
            "\"parts\": {",
            "\"parts\": {\"model\": {\"file\": \"model.0.safetensors\", \"values\": {}},",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        refuse(text.replacen(from, to, 1).as_bytes());
    }
    refuse(b"\xff");
    std::fs::write(&index, &text).unwrap();
    let mut other = Linear::new(6, 16).unwrap();
    let before = bytes(&other.state_dict().unwrap());
    let loaded = TrainingCheckpoint::load(&scratch.0).unwrap();
    assert!(loaded.restore("model", &mut other).is_err());
    assert_eq!(bytes(&other.state_dict().unwrap()), before);
}
