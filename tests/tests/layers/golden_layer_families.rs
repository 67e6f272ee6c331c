//! Runs every layer that was recorded with PyTorch: keys, printed form, initial weights, outputs, gradients, buffers; and
//! refuses what PyTorch refuses.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use module_nn::prelude::*;
use module_nn::{BackwardOptions, with_default_dtype};
use module_tests::golden::{self, Tolerance, compare, lay_out};
use module_tests::layers::{Arguments, Built, dtype, find};
use serde_json::Value;

/// Layers that copy or choose elements: there is no rounding.
const EXACT: [&str; 19] = [
    "AdaptiveMaxPool",
    "ChannelShuffle",
    "CircularPad",
    "ConstantPad",
    "Dropout",
    "Flatten",
    "FractionalMaxPool",
    "Identity",
    "MaxPool",
    "MaxUnpool",
    "PixelShuffle",
    "PixelUnshuffle",
    "ReLU",
    "ReflectionPad",
    "ReplicationPad",
    "Unflatten",
    "Unfold",
    "UpsamplingNearest",
    "ZeroPad",
];

/// The differences from PyTorch's database of layers: the layer, a part of the difference's text, the reason.
/// The sample has none of these, and f64 agrees.
const DIFFERENT: &[(&str, &str, &str)] = &[
    (
        "Transformer",
        "grad/encoder.layers.0.self_attn.in_proj_weight: element 3",
        "the roundings of f32 through a whole transformer: 1.1e-5 in one gradient",
    ),
    (
        "CTCLoss",
        "gin/0: element",
        "the roundings of f32 in logarithms over fifty steps, of both",
    ),
];

/// `None` if a layer matches the recording, otherwise the difference.
type Check = Result<(), String>;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// One case of a family: its description, and its tensors by the keys of the file.
struct Case<'a> {
    case: &'a Value,
    prefix: String,
    tensors: &'a StateDict,
}

impl Case<'_> {
    fn get(&self, what: &str) -> Option<&Tensor> {
        self.tensors.get(&format!("{}/{what}", self.prefix))
    }

    /// The tensors below `what`, by the rest of their keys.
    fn part(&self, what: &str) -> StateDict {
        let prefix = format!("{}/{what}/", self.prefix);
        part(self.tensors, &prefix)
    }

    /// The inputs of the pass that `description` records below `what`, as leaves.
    fn inputs(&self, description: &Value, what: &str) -> Vec<Tensor> {
        let inputs = description["inputs"].as_array().expect("a list of inputs");
        let input = |(i, input): (usize, &Value)| {
            let values = self.get(&format!("{what}in/{i}")).expect("an input");
            let tensor = lay_out(values, input["layout"].as_str().expect("a layout"));
            match input["grad"] == true {
                true => tensor.with_grad().unwrap(),
                false => tensor,
            }
        };
        inputs.iter().enumerate().map(input).collect()
    }

    fn close(&self, actual: &Tensor, what: &str) -> Check {
        // Those over one to three dimensions are listed once.
        let layer = self.case["layer"].as_str().expect("a layer");
        let dims = ["1d", "2d", "3d"];
        let layer = dims
            .iter()
            .find_map(|dims| layer.strip_suffix(dims))
            .unwrap_or(layer);
        let exact = EXACT.contains(&layer) && what.contains("out/");
        let normalizes = layer.contains("Norm") || layer.starts_with("Transformer");
        let gradient = what.starts_with("gin/") || what.starts_with("grad/");
        let tolerance = match exact {
            true => Tolerance::EXACT,
            false if normalizes && gradient => Tolerance::DIFFERENCE,
            false => Tolerance::CONTRACTION,
        };
        let expected = self.get(what).ok_or(format!("{what} was not recorded"))?;
        compare(actual, expected, tolerance).map_err(|difference| format!("{what}: {difference}"))
    }

    fn close_outputs(&self, outputs: &[Tensor], what: &str) -> Check {
        let recorded = self.part(&format!("{what}out")).len();
        if outputs.len() != recorded {
            return Err(format!("{} outputs instead of {recorded}", outputs.len()));
        }
        for (i, output) in outputs.iter().enumerate() {
            self.close(&output.detach(), &format!("{what}out/{i}"))?;
        }
        Ok(())
    }

    /// Compares every buffer, and checks that no others were recorded.
    fn close_buffers(&self, module: &dyn Module, what: &str) -> Check {
        let recorded = self.part(what).len();
        let found = module.named_buffers().count();
        if found != recorded {
            return Err(format!("{found} buffers instead of {recorded}"));
        }
        let mut buffers = module.named_buffers();
        buffers
            .try_for_each(|(name, buffer)| self.close(&buffer.tensor(), &format!("{what}/{name}")))
    }

    fn close_gradients(&self, module: &dyn Module) -> Check {
        let expected = self.part("grad");
        for (name, parameter) in module.named_parameters() {
            match (parameter.grad(), expected.get(&name)) {
                (Some(grad), Some(_)) => self.close(&grad, &format!("grad/{name}"))?,
                (None, None) => {}
                (grad, _) => return Err(format!("gradient of {name}: {grad:?}")),
            }
        }
        Ok(())
    }

    /// The layer's properties before it runs.
    fn check_members(&self, module: &dyn Module) -> Check {
        let state = module.state_dict().map_err(text)?;
        let keys: Vec<Value> = state.keys().map(Value::from).collect();
        if self.case["keys"] != Value::from(keys.clone()) {
            return Err(format!("keys {keys:?} instead of {}", self.case["keys"]));
        }
        let printed = module.tree().to_string();
        if self.case["repr"] != *printed {
            return Err(format!("prints {printed} instead of {}", self.case["repr"]));
        }
        for (key, first) in self.first().iter() {
            let value = state.get(key).ok_or(format!("no {key}"))?;
            // Lengths and singular vectors are computed by sums that no two programs round alike.
            let computed = ["._u", "._v", ".original0"];
            let tolerance = match computed.iter().any(|end| key.ends_with(end)) {
                true => Tolerance::CONTRACTION,
                false => Tolerance::EXACT,
            };
            compare(value, first, tolerance).map_err(|d| format!("first {key}: {d}"))?;
        }
        Ok(())
    }

    /// The state immediately after seeding and construction.
    fn first(&self) -> StateDict {
        part(self.tensors, &format!("first/{}/", self.case["first"]))
    }

    fn built(&self) -> Result<Box<dyn Built>, String> {
        let layer = find(self.case["layer"].as_str().expect("a layer"));
        let (seed, kind) = (self.seed(), dtype(&self.case["dtype"]));
        let build = || with_default_dtype(kind, || layer.build(&self.case["kwargs"]));
        fork_rng(seed, build).map_err(text)
    }

    fn seed(&self) -> u64 {
        self.case["seed"].as_u64().expect("a seed")
    }

    fn run(
        &self,
        built: &dyn Built,
        description: &Value,
        tensors: &[Tensor],
    ) -> Result<Vec<Tensor>> {
        let (positional, named) = (&description["args"], &description["named"]);
        let arguments = Arguments {
            tensors,
            positional,
            named,
        };
        fork_rng(self.seed(), || built.run(&arguments))
    }

    fn check(&self) -> Check {
        let built = self.built()?;
        let module = built.module();
        self.check_members(module)?;
        let (first, moved) = (self.first(), self.part("param"));
        let state = first.iter().map(|(key, value)| {
            let value = moved.get(key).unwrap_or(value);
            (key.to_owned(), value.clone())
        });
        let report = module.load_state_dict(&state.collect()).map_err(text)?;
        assert!(report.not_loaded.is_empty());

        for step in 0..self.case["warmup"].as_u64().expect("a number of passes") {
            let (description, what) = (
                &self.case[format!("warmup{step}")],
                format!("warmup/{step}/"),
            );
            module.train();
            let inputs = self.inputs(description, &what);
            let outputs = self.run(&*built, description, &inputs).map_err(text)?;
            self.close_outputs(&outputs, &what)?;
            self.close_buffers(module, &format!("{what}after"))?;
        }

        module.set_training(self.case["mode"] == "train");
        let inputs = self.inputs(self.case, "");
        let outputs = self.run(&*built, self.case, &inputs).map_err(text)?;
        self.close_outputs(&outputs, "")?;
        self.backward(&outputs).map_err(text)?;
        for (i, input) in inputs.iter().enumerate() {
            match (input.grad(), self.get(&format!("gin/{i}"))) {
                (Some(grad), Some(_)) => self.close(&grad, &format!("gin/{i}"))?,
                (None, None) => {}
                (grad, _) => return Err(format!("gradient of input {i}: {grad:?}")),
            }
        }
        self.close_gradients(module)?;
        self.close_buffers(module, "after")
    }

    /// One backward pass from all differentiated outputs: the gradient of Σ output · gradient.
    fn backward(&self, outputs: &[Tensor]) -> Result<()> {
        let mut followed = Vec::new();
        for (i, output) in outputs.iter().enumerate() {
            if let Some(grad) = self.get(&format!("gout/{i}")) {
                followed.push((output, grad));
            }
        }
        for (i, (output, grad)) in followed.iter().enumerate() {
            let options = BackwardOptions::new().retain_graph(i + 1 < followed.len());
            output.backward_with(grad, options)?;
        }
        Ok(())
    }

    /// A typed error in lowercase that quotes the values.
    fn check_refused(&self) -> Check {
        let layer = find(self.case["layer"].as_str().expect("a layer"));
        let refusal = match layer.build(&self.case["kwargs"]) {
            Err(error) => error,
            Ok(_) if self.case["inputs"].is_null() => return Err("it was accepted".to_owned()),
            Ok(built) => {
                built.module().set_training(self.case["mode"] == "train");
                let inputs = self.inputs(self.case, "");
                let arguments = Arguments {
                    tensors: &inputs,
                    positional: &self.case["args"],
                    named: &self.case["named"],
                };
                match built.run(&arguments) {
                    Err(error) => error,
                    Ok(_) => return Err("it was accepted".to_owned()),
                }
            }
        };
        let of_module = refusal.downcast_ref::<ModuleError>().is_some();
        if matches!(refusal.kind(), ErrorKind::Custom(_)) && !of_module {
            return Err(format!("untyped: {refusal}"));
        }
        let message = refusal.to_string();
        let problem = message.rsplit(": ").next().unwrap_or(&message);
        if problem.starts_with(char::is_uppercase) || message.ends_with('.') {
            return Err(format!("not in lower case without a stop: {message}"));
        }
        for quote in self.case["quotes"].as_array().expect("a list of texts") {
            let quote = quote.as_str().expect("a text");
            if !message.contains(quote) {
                return Err(format!("{message} does not quote {quote}"));
            }
        }
        Ok(())
    }
}

/// The tensors whose key starts with `prefix`, without it.
fn part(tensors: &StateDict, prefix: &str) -> StateDict {
    let of_prefix = |(key, tensor): (&str, &Tensor)| {
        let key = key.strip_prefix(prefix)?;
        Some((key.to_owned(), tensor.clone()))
    };
    tensors.iter().filter_map(of_prefix).collect()
}

/// Runs all cases in one list of a file, and reports failures.
fn failures(
    name: &str,
    cases: &Value,
    tensors: &StateDict,
    prefix: &str,
    needed: &RefCell<BTreeSet<usize>>,
) -> Vec<String> {
    let refused = !prefix.is_empty();
    let check = |(i, case): (usize, &Value)| {
        let prefix = format!("{prefix}{i}");
        let run = Case {
            case,
            prefix,
            tensors,
        };
        let run = || {
            if refused {
                run.check_refused()
            } else {
                run.check()
            }
        };
        // A panic in one case must not hide the others.
        let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err("it panicked".to_owned()));
        let problem = result.err()?;
        let layer = case["layer"].as_str().expect("a layer");
        let excuse = (DIFFERENT.iter()).position(|(of, contains, _)| {
            of.split(' ').any(|of| of == layer) && problem.contains(contains)
        });
        if let Some(excuse) = excuse.filter(|_| name.contains(DATABASE) && case["dtype"] == "f32") {
            needed.borrow_mut().insert(excuse);
            return None;
        }
        let (layer, kwargs, label) = (&case["layer"], &case["kwargs"], &case["label"]);
        Some(format!(
            "{name} {prefix}{i} {layer} {kwargs} {label}: {problem}",
            prefix = if refused { "refused" } else { "" }
        ))
    };
    let cases = cases.as_array().expect("a list of cases");
    cases.iter().enumerate().filter_map(check).collect()
}

/// The prefix of the files of PyTorch's own database, written by `golden/peer_databases.py`.
const DATABASE: &str = "layers_module_db";

#[test]
fn layers_agree_with_pytorch() {
    // Instead of the sample, every case in another directory.
    let (database, everything) = golden::peers(DATABASE);
    let mut names = golden::layer_families();
    names.retain(|name| !name.starts_with(DATABASE));
    names.extend(database);
    assert!(names.len() >= 9, "only {} families", names.len());
    let (mut problems, needed, mut count) = (Vec::new(), RefCell::default(), 0);
    for name in &names {
        let (case, tensors) = golden::load(name);
        count += case["cases"].as_array().expect("a list").len();
        for (list, prefix) in [("cases", ""), ("refused", "refused")] {
            problems.extend(failures(name, &case[list], &tensors, prefix, &needed));
        }
    }
    println!("{count} cases of layers");
    let needed = needed.into_inner();
    for (i, different) in DIFFERENT.iter().enumerate() {
        if everything && !needed.contains(&i) {
            problems.push(format!("nothing needs the exception {different:?}"));
        }
    }
    assert!(
        problems.is_empty(),
        "{} fail:\n{}",
        problems.len(),
        problems.join("\n")
    );
}
