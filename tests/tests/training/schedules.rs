//! Schedules set the same learning rates and momentums as PyTorch's.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod composed;
mod refused;

use module_nn::Snapshot;
use module_nn::optim::LRLambda;
use module_nn::prelude::*;
use module_tests::golden;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

type Text<T> = std::result::Result<T, String>;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A schedule in the form that a test needs.
enum Driven {
    Plain(Box<dyn Schedule>),
    Restarts(CosineAnnealingWarmRestarts),
    Plateau(ReduceLROnPlateau),
}

impl Driven {
    fn stateful(&mut self) -> &mut dyn Stateful {
        match self {
            Self::Plain(schedule) => schedule,
            Self::Restarts(schedule) => schedule,
            Self::Plateau(schedule) => schedule,
        }
    }

    fn last_lrs(&self) -> &[f64] {
        match self {
            Self::Plain(schedule) => schedule.last_lrs(),
            Self::Restarts(schedule) => schedule.last_lrs(),
            Self::Plateau(schedule) => schedule.last_lrs(),
        }
    }
}

fn lambda(name: &Value) -> LRLambda {
    match name.as_str().expect("a name") {
        "decay" => Box::new(|epoch| 0.95_f64.powf(epoch as f64)),
        "inverse" => Box::new(|epoch| 1.0 / (1 + epoch) as f64),
        "warm" => Box::new(|epoch| ((epoch + 1) as f64 / 10.0).min(1.0)),
        "nearly" => Box::new(|_| 0.99),
        "wave" => Box::new(|epoch| 1.0 + 0.1 * (epoch as f64).sin()),
        other => panic!("an unknown function: {other}"),
    }
}

/// The arguments as a configuration, with PyTorch's names in lowercase.
fn config<C: DeserializeOwned>(kwargs: &Map<String, Value>) -> Text<C> {
    let kwargs = kwargs
        .iter()
        .map(|(name, value)| (name.to_lowercase(), value.clone()));
    serde_json::from_value(Value::Object(kwargs.collect())).map_err(text)
}

fn build(case: &Value, optimizer: &mut dyn Optimizer) -> Text<Driven> {
    let mut kwargs = case["kwargs"].as_object().expect("arguments").clone();
    let name = case["schedule"].as_str().expect("a name");
    macro_rules! by_config {
        ($config:ty) => {
            Box::new(config::<$config>(&kwargs)?.build(optimizer).map_err(text)?)
        };
    }
    macro_rules! by_lambdas {
        ($schedule:ident) => {
            match &kwargs["lr_lambda"] {
                Value::Array(names) => {
                    let lambdas = names.iter().map(lambda).collect();
                    Box::new($schedule::each(optimizer, lambdas).map_err(text)?)
                }
                name => Box::new($schedule::new(optimizer, lambda(name)).map_err(text)?),
            }
        };
    }
    let schedule: Box<dyn Schedule> = match name {
        "StepLR" => by_config!(StepLRConfig),
        "MultiStepLR" => by_config!(MultiStepLRConfig),
        "ConstantLR" => by_config!(ConstantLRConfig),
        "LinearLR" => by_config!(LinearLRConfig),
        "ExponentialLR" => by_config!(ExponentialLRConfig),
        "PolynomialLR" => by_config!(PolynomialLRConfig),
        "CosineAnnealingLR" => by_config!(CosineAnnealingLRConfig),
        "WarmupCosine" => by_config!(WarmupCosineConfig),
        "OneCycleLR" => by_config!(OneCycleLRConfig),
        "SWALR" => by_config!(SWALRConfig),
        "LambdaLR" => by_lambdas!(LambdaLR),
        "MultiplicativeLR" => by_lambdas!(MultiplicativeLR),
        "CyclicLR" => {
            let scale = kwargs.remove("scale_fn");
            let config: CyclicLRConfig = config(&kwargs)?;
            let built = match scale.as_ref().and_then(Value::as_str) {
                Some("inverse") => config.build_scaled(optimizer, |x| 1.0 / x),
                Some("damped") => config.build_scaled(optimizer, |x| 0.99_f64.powf(x)),
                _ => config.build(optimizer),
            };
            Box::new(built.map_err(text)?)
        }
        "SequentialLR" | "ChainedScheduler" => {
            let mut parts: Vec<Box<dyn Schedule>> = Vec::new();
            for part in kwargs["schedulers"].as_array().expect("schedules") {
                match build(part, optimizer)? {
                    Driven::Plain(schedule) => parts.push(schedule),
                    Driven::Restarts(schedule) => parts.push(Box::new(schedule)),
                    Driven::Plateau(_) => panic!("a plateau inside {name}"),
                }
            }
            if name == "ChainedScheduler" {
                Box::new(ChainedScheduler::new(optimizer, parts).map_err(text)?)
            } else {
                let milestones = kwargs["milestones"].clone();
                let milestones: Vec<usize> = serde_json::from_value(milestones).unwrap();
                Box::new(SequentialLR::new(optimizer, parts, milestones).map_err(text)?)
            }
        }
        "CosineAnnealingWarmRestarts" => {
            let config: CosineAnnealingWarmRestartsConfig = config(&kwargs)?;
            return config.build(optimizer).map(Driven::Restarts).map_err(text);
        }
        "ReduceLROnPlateau" => {
            let config: ReduceLROnPlateauConfig = config(&kwargs)?;
            return config.build(optimizer).map(Driven::Plateau).map_err(text);
        }
        other => panic!("an unknown schedule: {other}"),
    };
    Ok(Driven::Plain(schedule))
}

/// An optimizer with two groups with these learning rates.
fn optimizer(name: &str, rates: &[f64]) -> Box<dyn Optimizer> {
    let model = Linear::new(1, 1).unwrap();
    let (first, second) = (rates[0], rates[1]);
    match name {
        "SGD" => {
            let config = SGDConfig::new(first);
            let config = config.group("bias", |g| SGDConfig { lr: second, ..g });
            Box::new(config.build(&model).unwrap())
        }
        _ => {
            let config = AdamWConfig::new(first);
            let config = config.group("bias", |g| AdamWConfig { lr: second, ..g });
            Box::new(config.build(&model).unwrap())
        }
    }
}

/// A recorded run.
struct Run<'a> {
    case: &'a Value,
    key: String,
    tensors: &'a StateDict,
    rates: &'a [f64],
}

impl Run<'_> {
    fn numbers(&self, name: &str) -> Option<Vec<f64>> {
        let tensor = self.tensors.get(&format!("{}.{name}", self.key))?;
        Some(tensor.to_vec().expect("f64"))
    }

    fn begin(&self) -> Text<(Box<dyn Optimizer>, Driven)> {
        let mut optimizer = optimizer(self.case["optimizer"].as_str().unwrap(), self.rates);
        let schedule = build(self.case, optimizer.as_mut())?;
        Ok((optimizer, schedule))
    }

    fn step(&self, step: usize, optimizer: &mut dyn Optimizer, driven: &mut Driven) -> Text<()> {
        if let Some(changed) = self.case["changed"][&step.to_string()].as_array() {
            for (group, lr) in changed.iter().enumerate() {
                optimizer.set_group_lr(group, lr.as_f64().unwrap()).unwrap();
            }
        }
        let stepped = match driven {
            Driven::Plain(schedule) => schedule.step(optimizer),
            Driven::Restarts(schedule) => match self.numbers("epochs") {
                Some(epochs) => schedule.step_to(epochs[step], optimizer),
                None => schedule.step(optimizer),
            },
            Driven::Plateau(schedule) => {
                schedule.step(self.numbers("metrics").expect("metrics")[step], optimizer)
            }
        };
        stepped.map_err(text)
    }
}

fn each_run(mut check: impl FnMut(&Run<'_>) -> Text<()>) {
    let (case, tensors) = golden::load("schedules.safetensors");
    let rates: Vec<f64> = serde_json::from_value(case["rates"].clone()).unwrap();
    let cases = case["cases"].as_array().expect("cases");
    assert!(cases.len() >= 80, "only {} cases", cases.len());
    let mut failures = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let run = Run {
            case,
            key: number.to_string(),
            tensors: &tensors,
            rates: &rates,
        };
        if let Err(problem) = check(&run) {
            failures.push(format!("{case}: {problem}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn compare(what: &str, step: usize, ours: &[f64], expected: &[f64]) -> Text<()> {
    for (group, (ours, expected)) in ours.iter().zip(expected).enumerate() {
        // Where PyTorch's rounding leaves -1e-18, ours is 0.
        if (ours - expected).abs() > 1e-12 * expected.abs() + 1e-16 {
            return Err(format!(
                "{what} of group {group} after {step} steps: {ours:e} instead of {expected:e}"
            ));
        }
    }
    Ok(())
}

#[test]
fn schedules_step_as_pytorch_does() {
    each_run(|run| {
        let (lrs, momentums) = (run.numbers("lrs").unwrap(), run.numbers("momentums"));
        assert_eq!(momentums.is_some(), run.case["cycles"] == true);
        let (mut optimizer, mut schedule) = run.begin()?;
        for step in 0..=200 {
            let recorded = 2 * step..2 * step + 2;
            compare("lr", step, &optimizer.group_lrs(), &lrs[recorded.clone()])?;
            if let Some(momentums) = &momentums {
                let ours = optimizer.group_momentums();
                let ours: Vec<f64> = ours.into_iter().map(Option::unwrap).collect();
                compare("momentum", step, &ours, &momentums[recorded])?;
            }
            assert_eq!(schedule.last_lrs(), optimizer.group_lrs());
            if step < 200 {
                run.step(step, optimizer.as_mut(), &mut schedule)?;
            }
        }
        Ok(())
    });
}

#[test]
fn a_resumed_run_has_the_same_bits() {
    each_run(|run| {
        let (mut optimizer, mut schedule) = run.begin()?;
        for step in 0..57 {
            run.step(step, optimizer.as_mut(), &mut schedule)?;
        }
        let saved = (optimizer.state(), schedule.stateful().state());
        let (of_optimizer, of_schedule) = (saved.0.map_err(text)?, saved.1.map_err(text)?);
        let (mut resumed, mut again) = run.begin()?;
        resumed.load_state(&of_optimizer).map_err(text)?;
        again.stateful().load_state(&of_schedule).map_err(text)?;
        assert_eq!(again.last_lrs(), schedule.last_lrs());
        for step in 57..100 {
            run.step(step, optimizer.as_mut(), &mut schedule)?;
            run.step(step, resumed.as_mut(), &mut again)?;
            let of = |o: &dyn Optimizer| (o.group_lrs(), o.group_momentums());
            if of(optimizer.as_ref()) != of(resumed.as_ref()) {
                return Err(format!("another learning rate or momentum at step {step}"));
            }
        }
        Ok(())
    });
}

#[test]
fn arguments_that_pytorch_refuses_are_refused() {
    let (case, _) = golden::load("schedules.safetensors");
    let rates: Vec<f64> = serde_json::from_value(case["rates"].clone()).unwrap();
    for refused in case["refused"].as_array().expect("cases") {
        let mut optimizer = optimizer("SGD", &rates);
        let before = (optimizer.group_lrs(), optimizer.group_momentums());
        let Err(message) = build(refused, optimizer.as_mut()) else {
            panic!("was built: {refused}");
        };
        let quotes = refused["quotes"].as_str().unwrap();
        assert!(message.contains(quotes), "{refused}: {message}");
        // The nested schedules were built before the outer one was refused.
        if refused["kwargs"]["schedulers"].is_null() {
            let after = (optimizer.group_lrs(), optimizer.group_momentums());
            assert_eq!(after, before, "{refused}");
        }
    }
}

#[test]
fn the_state_of_another_schedule_is_refused_by_name() {
    let mut of_each: Vec<(String, Driven, Snapshot)> = Vec::new();
    each_run(|run| {
        let name = run.case["schedule"].as_str().unwrap();
        if of_each.iter().all(|(seen, ..)| seen != name) {
            let (_, mut schedule) = run.begin()?;
            let state = schedule.stateful().state().map_err(text)?;
            of_each.push((name.to_owned(), schedule, state));
        }
        Ok(())
    });
    assert!(of_each.len() >= 16);
    let states: Vec<(String, Snapshot)> = of_each
        .iter()
        .map(|(name, _, state)| (name.clone(), state.clone()))
        .collect();
    for (name, schedule, own) in &mut of_each {
        for (other, state) in states.iter().filter(|(other, _)| other != name) {
            let error = schedule.stateful().load_state(state).unwrap_err();
            let message = error.to_string();
            assert!(message.contains(&format!("the state of {other}, and this is {name}")));
        }
        let model = Linear::new(1, 1).unwrap().state().unwrap();
        assert!(schedule.stateful().load_state(&model).is_err());
        let after = schedule.stateful().state().unwrap();
        assert_eq!(format!("{after:?}"), format!("{own:?}"));
    }
}
