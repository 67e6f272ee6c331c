//! Optimizers from outside the library: users' update rules, parameter groups, boxed optimizers, and paused training.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod boxed;
mod gan;
mod group_errors;
mod groups;
mod in_place;
mod lion;
mod pausing;

use module_core::Snapshot;
use module_nn::functional::{Reduction, mse_loss};
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};
use serde_json::Value;

/// Two layers with a tanh between.
fn network(inputs: usize, outputs: usize) -> Sequential {
    let model = Sequential::new().push(Linear::new(inputs, 8).unwrap());
    let model = model.push(Tanh::new());
    model.push(Linear::new(8, outputs).unwrap())
}

/// A run recorded with PyTorch.
struct Run {
    case: Value,
    tensors: StateDict,
}

impl Run {
    fn read(name: &str) -> Self {
        let (case, tensors) = golden::load(format!("runs/{name}.safetensors"));
        Self { case, tensors }
    }

    fn get(&self, name: &str) -> Tensor {
        self.tensors.get(name).expect("recorded").clone()
    }

    fn number(&self, name: &str) -> f64 {
        self.case[name].as_f64().expect("a number")
    }

    /// The data of one step.
    fn row(&self, name: &str, step: usize) -> Tensor {
        let row = self.get(name).narrow(0, step..step + 1).unwrap();
        row.squeeze(0).unwrap()
    }

    /// The initial values of a model whose parameters are recorded under a prefix.
    fn set_initial(&self, model: &dyn Module, prefix: &str) {
        for (path, parameter) in model.named_parameters() {
            let value = self.get(&format!("init.{prefix}{path}"));
            parameter.set(value).unwrap();
        }
    }

    /// Whether the parameters equal PyTorch's at the end.
    fn check_end(&self, model: &dyn Module, prefix: &str) {
        for (path, parameter) in model.named_parameters() {
            let expected = self.get(&format!("after.{prefix}{path}"));
            check(&path, &parameter.detach(), &expected);
        }
    }

    fn check_loss(&self, step: usize, loss: &Tensor) {
        let expected = self.row("losses", step);
        check(
            &format!("the loss of step {step}"),
            &loss.detach(),
            &expected,
        );
    }
}

fn check(what: &str, actual: &Tensor, expected: &Tensor) {
    let compared = compare(actual, expected, Tolerance::CONTRACTION);
    compared.unwrap_or_else(|text| panic!("{what}: {text}"));
}

/// One step of a regression.
fn regress(model: &Sequential, optimizer: &mut dyn Optimizer, x: Tensor, y: &Tensor) -> Tensor {
    model.zero_grad();
    let loss = mse_loss(&model.call(x).unwrap(), y, Reduction::Mean).unwrap();
    loss.backward().unwrap();
    optimizer.step(model).unwrap();
    loss
}

/// Runs the steps with these numbers on data that depends only on the number.
fn train(model: &Sequential, optimizer: &mut dyn Optimizer, steps: std::ops::Range<u32>) {
    for step in steps {
        let (x, y) = fork_rng(u64::from(step), || {
            let draw = |size| Tensor::randn([5, size], DType::F32).unwrap();
            (draw(3), draw(2))
        });
        // Rates that JSON must keep to the last bit, and 0 first, as a warm-up may have.
        optimizer
            .set_lr(0.03 * f64::from(step) / (1.0 + 0.1 * f64::from(step)))
            .unwrap();
        regress(model, optimizer, x, &y);
    }
}

/// The complete state of the training.
fn bytes(model: &dyn Module, optimizer: &dyn Optimizer) -> Vec<(String, Vec<u8>)> {
    let states = [
        model.state_dict().unwrap(),
        tensors(&optimizer.state().unwrap()),
    ];
    let bytes = |(key, x): (&str, &Tensor)| (key.to_owned(), x.to_host().unwrap().to_le_bytes());
    states
        .iter()
        .flat_map(|state| state.iter().map(bytes).collect::<Vec<_>>())
        .collect()
}

fn tensors(state: &Snapshot) -> StateDict {
    state.tensors().clone()
}

/// Trains without interruption, and with a checkpoint in the middle from which a new model and a new optimizer resume; both
/// must give the same bits.
fn goes_on(name: &str, build: impl Fn(&dyn Module) -> Result<Box<dyn Optimizer>>) {
    let directory = std::env::temp_dir().join(format!("optimizers-{name}-{}", std::process::id()));
    let model = fork_rng(7, || network(3, 2));
    let mut optimizer = build(&model).unwrap();
    train(&model, &mut *optimizer, 0..1);
    let saved = TrainingCheckpoint::new(0, 1).with("model", &model).unwrap();
    let saved = saved.with("optimizer", &*optimizer).unwrap();
    saved.save(&directory).unwrap();
    train(&model, &mut *optimizer, 1..12);
    let straight = (bytes(&model, &*optimizer), optimizer.group_lrs());

    let saved = TrainingCheckpoint::load(&directory).unwrap();
    std::fs::remove_dir_all(directory).unwrap();
    let mut model = network(3, 2);
    let mut optimizer = build(&model).unwrap();
    train(&model, &mut *optimizer, 3..5);
    saved.restore("model", &mut model).unwrap();
    saved.restore("optimizer", &mut *optimizer).unwrap();
    train(&model, &mut *optimizer, 1..12);
    assert!(
        (bytes(&model, &*optimizer), optimizer.group_lrs()) == straight,
        "{name}"
    );
}
