//! Random networks (`golden/random_networks`) learn what they learn in PyTorch, in each way to train them: a recording, or the
//! networks in the folder `RANDOM_NETWORKS`, which `python -m random_networks` writes for any seed.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod ways;

use std::sync::Arc;

use module_nn::optim::*;
use module_nn::prelude::*;
use module_nn::with_default_dtype;
use module_tests::drawn::Drawn;
use module_tests::golden;
use module_tests::layers::{build, dtype};
use serde::de::DeserializeOwned;
use serde_json::Value;

use ways::Way;

const FILE: &str = "random_networks.safetensors";

/// The recording stays small, and has enough networks.
const BYTES: u64 = 1_000_000;
const NETWORKS: usize = 60;

struct Network<'a> {
    case: &'a Value,
    prefix: usize,
    tensors: &'a StateDict,
}

/// The step before which a second network takes over.
const RESUMED: usize = 3;

/// A network in training.
struct Run {
    model: Arc<dyn Layer>,
    optimizer: Box<dyn Optimizer>,
}

type Results = Vec<(String, Tensor)>;

fn optimizer<C: DeserializeOwned + UpdateRule + 'static>(
    case: &Value,
    model: &dyn Module,
) -> Result<Box<dyn Optimizer>> {
    let rule = |options: Value| serde_json::from_value::<C>(options).map_err(Error::custom);
    let mut options = case["options"].clone();
    let mut groups = ParamGroups::new(rule(options.clone())?);
    if let Some(other) = case["group"]["options"].as_object() {
        options
            .as_object_mut()
            .expect("options")
            .extend(other.clone());
        let other = rule(options)?;
        let names: Vec<String> =
            serde_json::from_value(case["group"]["names"].clone()).expect("names");
        groups = groups.group(names, |_| other);
    }
    Ok(Box::new(groups.build(model)?))
}

impl Network<'_> {
    fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(&format!("{}/{name}", self.prefix))
    }

    fn start(&self, way: Way) -> Result<Run> {
        let kind = dtype(&self.case["dtype"]);
        let model = with_default_dtype(kind, || way.build(|| build(&self.case["network"])))?;
        let build = match self.case["optimizer"].as_str().expect("an optimizer") {
            "SGD" => optimizer::<SGDConfig>,
            "Adam" => optimizer::<AdamConfig>,
            "AdamW" => optimizer::<AdamWConfig>,
            "NAdam" => optimizer::<NAdamConfig>,
            "RAdam" => optimizer::<RAdamConfig>,
            "Adamax" => optimizer::<AdamaxConfig>,
            "Adagrad" => optimizer::<AdagradConfig>,
            "RMSprop" => optimizer::<RMSpropConfig>,
            "ASGD" => optimizer::<ASGDConfig>,
            "Adadelta" => optimizer::<AdadeltaConfig>,
            "Rprop" => optimizer::<RpropConfig>,
            unknown => panic!("an unknown optimizer: {unknown}"),
        };
        model.to_device(&way.device())?;
        let optimizer = build(self.case, model.as_module())?;
        let model = Arc::from(model);
        Ok(Run { model, optimizer })
    }

    /// The results of all steps by their names in the file.
    fn train(&self, way: Way) -> Result<Results> {
        let mut run = self.start(way)?;
        let state = |prefix: &str, run: &Run| -> Result<Results> {
            let state = run.model.state_dict()?;
            let named = |(name, x): (&str, &Tensor)| (format!("{prefix}/{name}"), x.clone());
            Ok(state.iter().map(named).collect())
        };
        let mut found = state("init", &run)?;
        for (i, step) in self.case["steps"]
            .as_array()
            .expect("steps")
            .iter()
            .enumerate()
        {
            if way == Way::Resumed && i == RESUMED {
                let mut other = fork_rng(1, || self.start(way))?;
                let _ = other.model.load_state_dict(&run.model.state_dict()?)?;
                other.optimizer.load_state(&run.optimizer.state()?)?;
                run = other;
            }
            found.push((
                format!("out/{i}"),
                self.step(&mut run, way, i, step)?.detach(),
            ));
        }
        found.extend(state("after", &run)?);
        let on_cpu = |(name, x): (String, Tensor)| Ok((name, x.to_device(&Device::cpu())?));
        found.into_iter().map(on_cpu).collect()
    }

    /// One step; the output.
    fn step(&self, run: &mut Run, way: Way, i: usize, step: &Value) -> Result<Tensor> {
        let Run { model, optimizer } = run;
        let is_eval = step["eval"] == true;
        model.set_training(!is_eval);
        let paused = step["paused"].as_array().expect("names");
        for (name, parameter) in model.named_parameters() {
            parameter.set_requires_grad(!paused.iter().any(|paused| *paused == name));
        }
        if let Some(lrs) = step["lrs"].as_array() {
            for (group, lr) in lrs.iter().enumerate() {
                optimizer.set_group_lr(group, lr.as_f64().expect("a number"))?;
            }
        }
        model.zero_grad();
        let input = |what| {
            let recorded = self.tensor(&format!("{what}/{i}")).expect("recorded");
            recorded.to_device(&way.device())
        };
        let (x, y) = (input("x")?, input("y")?);
        let learn = |output: &Tensor| {
            let learns = !is_eval && output.requires_grad();
            match learns {
                true => MSELoss::new().loss(output, &y).map(Some),
                false => Ok(None),
            }
        };
        let (output, learned) = way.pass(model, &x, &learn)?;
        if !learned {
            return Ok(output);
        }
        if let Some(norm) = step["clip"].as_f64() {
            let _ = clip_grad_norm(model.as_module(), norm)?;
        }
        optimizer.step(model.as_module())?;
        Ok(output)
    }

    /// Compares results with PyTorch's.
    fn compare(&self, found: &Results) -> Result<(), String> {
        let limits = self.case["limits"].as_object().expect("limits");
        for (name, x) in found {
            let expected = self
                .tensor(name)
                .ok_or(format!("{name} is not in PyTorch"))?;
            let limit = limits
                .get(name)
                .map_or(0.0, |limit| limit.as_f64().expect("a number"));
            golden::within(x, expected, limit).map_err(|e| format!("{name}: {e}"))?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let seed = self.case["seed"].as_u64().expect("a seed");
        let train = |way| fork_rng(seed, || self.train(way)).map_err(|e| format!("{way:?}: {e}"));
        let found = train(Way::Plain)?;
        self.compare(&found)?;
        self.compare(&train(Way::OnMirrorComposed)?)
            .map_err(|e| format!("{e}, without fused families"))?;
        let count = (self.tensors.keys())
            .filter(|key| {
                ["init", "out", "after"]
                    .iter()
                    .any(|part| key.starts_with(&format!("{}/{part}/", self.prefix)))
            })
            .count();
        if found.len() != count {
            return Err(format!("{} results instead of {count}", found.len()));
        }
        for way in Way::OTHERS {
            for ((name, a), (_, b)) in found.iter().zip(&train(way)?) {
                golden::same_bits(a, b).map_err(|e| format!("{name}, {way:?}: {e}"))?;
            }
        }
        Ok(())
    }
}

#[test]
fn random_networks_learn_as_in_pytorch() {
    let drawn = Drawn::open("RANDOM_NETWORKS", FILE);
    drawn.check(NETWORKS, |prefix, case| {
        let tensors = &drawn.tensors;
        let network = Network {
            case,
            prefix,
            tensors,
        };
        network.check().map_err(|problem| {
            let of = |what: &str| &case[what];
            format!(
                "number {} of {}: {problem}\n  {}\n  {} {}\n  {}",
                of("number"),
                of("dtype"),
                of("network"),
                of("optimizer"),
                of("options"),
                of("steps")
            )
        })
    });
}

#[test]
fn the_recording_is_small() {
    let size = golden::path(FILE).metadata().expect("a recording").len();
    assert!(size <= BYTES, "{size} bytes");
}
