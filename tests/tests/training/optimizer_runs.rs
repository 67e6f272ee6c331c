//! A hundred steps of every optimizer, with groups, compared with PyTorch; and the same after resuming.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::optim::*;
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::golden_optim::compare_states;

#[derive(Module)]
struct Model {
    p0: Parameter,
    p1: Parameter,
    p2: Parameter,
}

/// The step at which the resumed run was stopped.
const STOPPED: usize = 57;

struct Recorded {
    case: Value,
    tensors: StateDict,
}

impl Recorded {
    fn read() -> Self {
        let (case, tensors) = golden::load("optimizer_runs.safetensors");
        Self { case, tensors }
    }

    fn get(&self, name: &str) -> &Tensor {
        let tensor = self.tensors.get(name);
        tensor.unwrap_or_else(|| panic!("{name} is not recorded"))
    }

    fn model(&self, dtype: DType) -> Model {
        let initial = |name: &str| {
            let value = self.get(name).to_dtype(dtype).unwrap();
            Parameter::new(value).unwrap()
        };
        Model {
            p0: initial("init.p0"),
            p1: initial("init.p1"),
            p2: initial("init.p2"),
        }
    }

    fn set_gradients(&self, model: &Model, step: usize) {
        let absent = self.case["absent"].as_array().expect("a list");
        for (name, parameter) in model.named_parameters() {
            parameter.zero_grad();
            if name == "p1" && absent.contains(&Value::from(step)) {
                continue;
            }
            let grads = self.get(&format!("grads.{name}"));
            let grad = grads.narrow(0, step..step + 1).unwrap().squeeze(0).unwrap();
            let grad = grad.to_dtype(parameter.detach().dtype()).unwrap();
            parameter.set_grad(grad).unwrap();
        }
    }
}

fn options<R: DeserializeOwned>(arguments: &Value) -> R {
    serde_json::from_value(arguments.clone()).unwrap_or_else(|e| panic!("{arguments}: {e}"))
}

fn build_rule<R: UpdateRule + 'static>(case: &Value, model: &Model) -> Box<dyn Optimizer> {
    let mut changed = case["kwargs"].clone();
    let changes = case["group"].as_object().expect("arguments");
    for (name, value) in changes {
        changed[name] = value.clone();
    }
    let groups = options::<R>(&case["kwargs"]).group("p1", |_| options(&changed));
    Box::new(groups.build(model).unwrap())
}

fn build(case: &Value, model: &Model) -> Box<dyn Optimizer> {
    let build = match case["optimizer"].as_str().expect("a name") {
        "SGD" => build_rule::<SGDConfig>,
        "Adam" => build_rule::<AdamConfig>,
        "AdamW" => build_rule::<AdamWConfig>,
        "NAdam" => build_rule::<NAdamConfig>,
        "RAdam" => build_rule::<RAdamConfig>,
        "Adamax" => build_rule::<AdamaxConfig>,
        "Adagrad" => build_rule::<AdagradConfig>,
        "Adadelta" => build_rule::<AdadeltaConfig>,
        "RMSprop" => build_rule::<RMSpropConfig>,
        "Rprop" => build_rule::<RpropConfig>,
        "ASGD" => build_rule::<ASGDConfig>,
        "Adafactor" => build_rule::<AdafactorConfig>,
        "Muon" => build_rule::<MuonConfig>,
        "Lion" => build_rule::<LionConfig>,
        other => panic!("{other} is recorded, but has no line here"),
    };
    build(case, model)
}

/// Compares a case with PyTorch's, including the names of the state's tensors.
fn check(recorded: &Recorded, number: usize, case: &Value) -> std::result::Result<(), String> {
    let dtype = if case["dtype"] == "f64" {
        DType::F64
    } else {
        DType::F32
    };
    let tolerance = Tolerance::CONTRACTION;
    let steps = recorded.case["steps"].as_u64().expect("a number");
    let at = recorded.case["recorded"].as_array().expect("a list");
    let model = recorded.model(dtype);
    let mut optimizer = build(case, &model);
    let mut saved = None;
    for step in 0..usize::try_from(steps).unwrap() {
        if step == STOPPED {
            saved = Some((optimizer.state().unwrap(), model.state_dict().unwrap()));
        }
        recorded.set_gradients(&model, step);
        optimizer.step(&model).map_err(|error| error.to_string())?;
        let Some(row) = at.iter().position(|at| *at == step + 1) else {
            continue;
        };
        for (name, parameter) in model.named_parameters() {
            let after = recorded.get(&format!("{number}/after.{name}"));
            let after = after.narrow(0, row..row + 1).unwrap().squeeze(0).unwrap();
            compare(&parameter.detach(), &after, tolerance)
                .map_err(|text| format!("{name} after step {}: {text}", step + 1))?;
        }
    }
    let prefix = format!("{number}/state.");
    compare_states(&optimizer.state().unwrap(), &recorded.tensors, &prefix)?;

    let (state, values) = saved.expect("stopped");
    let resumed = recorded.model(dtype);
    let _ = resumed.load_state_dict(&values).unwrap();
    let mut optimizer = build(case, &resumed);
    optimizer
        .load_state(&state)
        .map_err(|error| error.to_string())?;
    for step in STOPPED..usize::try_from(steps).unwrap() {
        recorded.set_gradients(&resumed, step);
        optimizer
            .step(&resumed)
            .map_err(|error| error.to_string())?;
    }
    let pairs = model.parameters().zip(resumed.parameters());
    for (ours, resumed) in pairs {
        compare(&resumed.detach(), &ours.detach(), Tolerance::EXACT)
            .map_err(|text| format!("after a resume: {text}"))?;
    }
    Ok(())
}

#[test]
fn a_hundred_steps_are_those_of_pytorch_and_a_resume_changes_no_bit() {
    let recorded = Recorded::read();
    let cases = recorded.case["cases"].as_array().expect("cases");
    assert!(cases.len() >= 76, "only {} cases", cases.len());
    let results = cases.iter().enumerate().map(|(number, case)| {
        check(&recorded, number, case).map_err(|problem| format!("{number}: {case}: {problem}"))
    });
    let failures: Vec<String> = results.filter_map(std::result::Result::err).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Options outside the ranges that PyTorch accepts.
#[test]
fn options_out_of_range_are_refused() {
    let model = Linear::new(2, 1).unwrap();
    let errors = [
        AdamConfig::new(-1.0).build(&model).err(),
        AdamConfig::new(0.1).betas((1.0, 0.9)).build(&model).err(),
        NAdamConfig::new(0.1)
            .momentum_decay(-1.0)
            .build(&model)
            .err(),
        RAdamConfig::new(0.1).betas((0.9, -0.1)).build(&model).err(),
        AdamaxConfig::new(0.1).eps(-1.0).build(&model).err(),
        AdagradConfig::new(0.1)
            .initial_accumulator_value(-1.0)
            .build(&model)
            .err(),
        AdadeltaConfig::new(0.1).rho(1.5).build(&model).err(),
        RMSpropConfig::new(0.1).alpha(-0.5).build(&model).err(),
        RpropConfig::new(0.1).etas((1.5, 2.0)).build(&model).err(),
        ASGDConfig::new(0.1).lambd(f64::NAN).build(&model).err(),
        LionConfig::new(0.1).weight_decay(-1.0).build(&model).err(),
    ];
    let messages: Vec<String> = errors.map(|e| e.expect("refused").to_string()).into();
    let expected = [
        "Adam: lr = -1: must be at least 0",
        "Adam: betas.0 = 1: must be at least 0 and below 1",
    ];
    assert_eq!(messages[..2], expected);
    assert_eq!(
        messages[8],
        "Rprop: etas = (1.5, 2): must be one factor between 0 and 1 and one above 1"
    );
}

/// The option that a schedule moves opposite to the learning rate: PyTorch's `momentum`, or `betas[0]`.
#[test]
fn momentums_are_those_that_schedules_move() {
    let model = Linear::new(2, 1).unwrap();
    let muon = MuonConfig::new(0.1).group("bias", |group| group.use_muon(false));
    let optimizers: [(Box<dyn Optimizer>, f64); 6] = [
        (Box::new(Adam::new(&model, 0.1).unwrap()), 0.9),
        (Box::new(NAdam::new(&model, 0.1).unwrap()), 0.9),
        (Box::new(RAdam::new(&model, 0.1).unwrap()), 0.9),
        (Box::new(Adamax::new(&model, 0.1).unwrap()), 0.9),
        (Box::new(RMSprop::new(&model, 0.1).unwrap()), 0.0),
        (Box::new(muon.build(&model).unwrap()), 0.95),
    ];
    for (mut optimizer, momentum) in optimizers {
        assert_eq!(optimizer.group_momentums()[0], Some(momentum));
        optimizer.set_group_momentum(0, 0.5).unwrap();
        assert_eq!(optimizer.group_momentums()[0], Some(0.5));
    }
    let mut rprop = Rprop::new(&model, 0.1).unwrap();
    assert_eq!(rprop.group_momentums(), [None]);
    assert!(rprop.set_group_momentum(0, 0.5).is_err());
}

#[test]
fn muon_refuses_parameters_that_are_not_matrices() {
    let model = Linear::new(2, 1).unwrap();
    let error = Muon::new(&model, 0.1).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "Muon: parameter = bias: its shape is [1], and only matrices are moved by Muon; put it in a group with \
         `use_muon(false)`"
    );
}
