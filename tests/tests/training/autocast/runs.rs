//! Trainings of twenty steps, with steps that overflow; resumed trainings; gradients accumulated over micro-batches.

use module_nn::CrossEntropyOptions;
use module_nn::functional::{Reduction, mse_loss};
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};
use serde_json::Value;

use super::dtype;

fn recorded_runs() -> Vec<Value> {
    let text = std::fs::read_to_string(golden::path("scaled_runs.json")).unwrap();
    let runs: Value = serde_json::from_str(&text).unwrap();
    runs["cases"].as_array().expect("runs").clone()
}

fn net(n: usize) -> Sequential {
    match n {
        0 | 1 => Sequential::new()
            .push(Linear::new(6, 16).unwrap())
            .push(ReLU::new())
            .push(Linear::new(16, 4).unwrap()),
        _ => Sequential::new()
            .push(Conv2d::new(2, 4, 3).unwrap())
            .push(BatchNorm2d::new(4).unwrap())
            .push(ReLU::new())
            .push(Flatten::new())
            .push(Linear::new(64, 4).unwrap()),
    }
}

struct Run {
    net: Sequential,
    optimizer: SGD,
    scaler: Option<GradScaler>,
    x: Tensor,
    y: Tensor,
    lower: DType,
}

#[derive(Debug, PartialEq)]
struct Step {
    loss: f32,
    scale: f64,
    moved: bool,
}

impl Run {
    fn new(n: usize, lower: DType, tensors: &StateDict) -> Self {
        let net = net(n);
        let prefix = format!("run/{n}/");
        let mut state = StateDict::new();
        for (key, value) in tensors {
            if let Some(key) = key.strip_prefix(&format!("{prefix}state.")) {
                state.insert(key, value.clone());
            }
        }
        let _ = net.load_state_dict(&state).unwrap();
        let scaler = GradScalerConfig::new()
            .init_scale(f64::from(1 << 20))
            .growth_interval(4_u64);
        let get = |name: &str| {
            tensors
                .get(&format!("{prefix}{name}"))
                .expect("recorded")
                .clone()
        };
        Self {
            optimizer: SGDConfig::new(if n < 2 { 0.1 } else { 0.01 })
                .momentum(0.9)
                .build(&net)
                .unwrap(),
            scaler: (lower == DType::F16).then(|| scaler.build().unwrap()),
            net,
            x: get("x"),
            y: get("y"),
            lower,
        }
    }

    fn step(&mut self, number: usize) -> Result<Step> {
        let Self {
            net,
            optimizer,
            scaler,
            x,
            y,
            lower,
        } = self;
        net.zero_grad();
        let loss = autocast(*lower, || {
            net.call(x.clone())?
                .cross_entropy(y, CrossEntropyOptions::new())
        })?;
        assert_eq!(loss.dtype(), DType::F32);
        let (mut scale, mut moved) = (1.0, true);
        match scaler {
            Some(scaler) => {
                scale = scaler.get_scale();
                scaler.scale(&loss)?.backward()?;
                if number % 2 == 1 {
                    scaler.unscale(net)?;
                    clip_grad_norm(net, 0.5)?;
                }
                moved = scaler.step(optimizer, net)?;
                scaler.update()?;
            }
            None => {
                loss.backward()?;
                optimizer.step(net)?;
            }
        }
        let loss = loss.item()?;
        Ok(Step { loss, scale, moved })
    }
}

#[test]
fn losses_and_scales_are_those_of_pytorch() {
    let (_, tensors) = golden::load("autocast.safetensors");
    let runs = recorded_runs();
    assert_eq!(runs.len(), 4);
    let mut left_out = 0;
    for (n, recorded) in runs.iter().enumerate() {
        let lower = dtype(&recorded["lower"]);
        let mut run = Run::new(n, lower, &tensors);
        let steps = recorded["steps"].as_array().expect("steps");
        assert_eq!(steps.len(), 20);
        for (i, expected) in steps.iter().enumerate() {
            let step = run.step(i).unwrap();
            let loss = expected["loss"].as_f64().unwrap();
            // PyTorch's tolerances of the two dtypes.
            let close = if lower == DType::BF16 { 1.6e-2 } else { 1e-3 };
            let difference = (f64::from(step.loss) - loss).abs();
            assert!(
                difference <= 1e-5 + close * loss,
                "run {n}, step {i}: {step:?} instead of {expected}"
            );
            assert_eq!(
                (step.scale, step.moved),
                (
                    expected["scale"].as_f64().unwrap(),
                    expected["moved"] == true
                ),
                "run {n}, step {i}"
            );
            left_out += usize::from(!step.moved);
        }
        if let Some(scaler) = &run.scaler {
            let state = scaler.state().unwrap();
            for name in [
                "scale",
                "growth_factor",
                "backoff_factor",
                "growth_interval",
                "_growth_tracker",
            ] {
                let ours: f64 = state.get(name).unwrap();
                assert_eq!(
                    Some(ours),
                    recorded["state"][name].as_f64(),
                    "run {n}: {name}"
                );
            }
        }
        // Parameters and gradients are in f32 all the time.
        for parameter in run.net.parameters() {
            assert_eq!(parameter.detach().dtype(), DType::F32);
            assert_eq!(parameter.grad().unwrap().dtype(), DType::F32);
        }
    }
    assert_eq!(left_out, 9);
}

#[test]
fn a_resumed_run_continues_bit_for_bit() -> Result<()> {
    let (_, tensors) = golden::load("autocast.safetensors");
    let mut whole = Run::new(3, DType::F16, &tensors);
    let mut steps = Vec::new();
    let mut saved = None;
    for i in 0..20 {
        if i == 9 {
            let scaler = whole.scaler.as_ref().expect("a scaler");
            let checkpoint = TrainingCheckpoint::new(0, i as u64);
            let checkpoint = checkpoint
                .with("net", &whole.net)?
                .with("optimizer", &whole.optimizer)?;
            saved = Some(checkpoint.with("scaler", scaler)?);
        }
        steps.push(whole.step(i)?);
    }
    let saved = saved.expect("a checkpoint");
    let mut resumed = Run::new(3, DType::F16, &tensors);
    saved.restore("net", &mut resumed.net)?;
    saved.restore("optimizer", &mut resumed.optimizer)?;
    saved.restore("scaler", resumed.scaler.as_mut().expect("a scaler"))?;
    for (i, expected) in steps.iter().enumerate().skip(9) {
        assert_eq!(&resumed.step(i)?, expected);
    }
    let weights = |run: &Run| {
        run.net
            .state_dict()?
            .iter()
            .map(|(_, x)| x.to_dtype(DType::F64)?.to_vec::<f64>())
            .collect::<Result<Vec<_>>>()
    };
    assert_eq!(weights(&whole)?, weights(&resumed)?);
    Ok(())
}

/// Ten rows in micro-batches of two, four per step: the second step has one.
#[test]
fn micro_batches_have_the_gradient_of_the_whole_batch() -> Result<()> {
    let (_, tensors) = golden::load("autocast.safetensors");
    let get = |name: &str| tensors.get(&format!("sums/{name}")).expect("recorded");
    let model = Linear::new(3, 2)?;
    let mut state = StateDict::new();
    state.insert("weight", get("state.weight").clone());
    state.insert("bias", get("state.bias").clone());
    let _ = model.load_state_dict(&state)?;
    let batches: Vec<(Tensor, Tensor)> = (0..5)
        .map(|i| {
            Ok((
                get("x").narrow(0, 2 * i..2 * i + 2)?,
                get("y").narrow(0, 2 * i..2 * i + 2)?,
            ))
        })
        .collect::<Result<_>>()?;
    for (step, together) in batches.chunks(4).enumerate() {
        model.zero_grad();
        for (x, y) in together {
            let loss = mse_loss(&model.call(x.clone())?, y, Reduction::Mean)?;
            loss.mul(1.0 / together.len() as f64)?.backward()?;
        }
        for (name, parameter) in model.named_parameters() {
            let expected = get(&format!("{step}.{name}"));
            compare(&parameter.grad().unwrap(), expected, Tolerance::CONTRACTION)
                .unwrap_or_else(|text| panic!("step {step}: {name}: {text}"));
        }
    }
    Ok(())
}
