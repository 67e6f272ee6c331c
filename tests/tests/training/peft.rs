//! Adapters written by PEFT give the same outputs here, and adapters written here give the same outputs in PEFT.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod models;
mod refused;
mod written;

use module_nn::lora::{self, PeftAdapter, PeftConfig};
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, assert_close, compare};
use serde_json::Value;

use models::{Model, Transformer, base};

/// The adapters that PEFT wrote, and its outputs.
struct Recorded {
    adapters: Vec<(String, Value)>,
    tensors: StateDict,
}

impl Recorded {
    fn read() -> Self {
        let (case, tensors) = golden::load("peft/expected.safetensors");
        let adapters = case["adapters"].as_object().expect("adapters").clone();
        let adapters = adapters.into_iter().collect();
        Self { adapters, tensors }
    }

    fn tensor(&self, case: &str, part: &str) -> Tensor {
        let tensor = self.tensors.get(&format!("{case}.{part}"));
        tensor.unwrap_or_else(|| panic!("{part} of {case}")).clone()
    }
}

fn folder(case: &str) -> std::path::PathBuf {
    golden::path(format!("peft/{case}"))
}

fn kind(case: &Value) -> &str {
    case["model"].as_str().expect("a model")
}

fn answer(model: &dyn Model, input: Tensor) -> Tensor {
    no_grad(|| model.answer(input)).unwrap()
}

#[test]
fn adapters_of_peft_answer_as_there() {
    let recorded = Recorded::read();
    assert!(recorded.adapters.len() >= 19);
    for (name, case) in &recorded.adapters {
        let mut model = base(kind(case));
        let input = recorded.tensor(name, "input");
        let before = answer(&*model, input.clone());
        let report = lora::load_pretrained(&mut *model, folder(name), "mine")
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        model.eval();
        assert_eq!(case["adapted"], Value::from(report.matched), "{name}");
        assert_eq!(case["saved"], Value::from(report.saved), "{name}");

        let expected = recorded.tensor(name, "output");
        assert!(compare(&before, &expected, Tolerance::CONTRACTION).is_err());
        let output = answer(&*model, input);
        assert_close(&output, &expected, Tolerance::CONTRACTION, name);
    }
}

#[test]
fn merged_after_reading_they_answer_the_same() {
    let recorded = Recorded::read();
    for (name, case) in &recorded.adapters {
        let mut model = base(kind(case));
        lora::load_pretrained(&mut *model, folder(name), "mine").unwrap();
        model.eval();
        let input = recorded.tensor(name, "input");
        let apart = answer(&*model, input.clone());
        if name == "conv2d_groups" {
            // PEFT cannot merge it either.
            assert!(lora::merge(&mut *model).is_err());
            continue;
        }
        lora::merge(&mut *model).unwrap_or_else(|error| panic!("{name}: {error}"));
        let merged = answer(&*model, input);
        let far = merged.sub(&apart).unwrap().abs().unwrap().max(..).unwrap();
        let largest = apart.abs().unwrap().max(..).unwrap().item::<f32>().unwrap();
        let far = far.item::<f32>().unwrap() / largest.max(1.0);
        assert!(far < 1e-6, "{name}: {far}");
    }
}

#[test]
fn what_is_read_is_written_again() {
    let recorded = Recorded::read();
    for (name, case) in &recorded.adapters {
        let read = PeftAdapter::load(folder(name)).unwrap();
        let mut model = base(kind(case));
        read.add_to(&mut *model, "mine").unwrap();
        let written = PeftAdapter::of(&*model, "mine").unwrap();

        // PEFT's second copy of a bias is not written.
        let is_copy = |key: &str| key.contains(".modules_to_save.");
        let mut keys: Vec<&str> = read.tensors.keys().filter(|key| !is_copy(key)).collect();
        let mut again: Vec<&str> = written.tensors.keys().collect();
        keys.sort_unstable();
        again.sort_unstable();
        assert_eq!(again, keys, "{name}");
        for key in keys {
            let [old, new] = [&read, &written].map(|adapter| adapter.tensors.get(key).unwrap());
            assert_close(new, old, Tolerance::EXACT, key);
        }
        assert_eq!(written.config.lora, read.config.lora, "{name}");

        let json = written.config.to_json().unwrap();
        let config = PeftConfig::from_json(&json).unwrap();
        assert_eq!(config, written.config, "{name}");
        let mut other = base(kind(case));
        let report = PeftAdapter { config, ..written }
            .add_to(&mut *other, "other")
            .unwrap();
        assert_eq!(case["adapted"], Value::from(report.matched), "{name}");
        let input = recorded.tensor(name, "input");
        let expected = recorded.tensor(name, "output");
        other.eval();
        assert_close(
            &answer(&*other, input),
            &expected,
            Tolerance::CONTRACTION,
            name,
        );
    }
}

#[test]
fn configurations_mean_the_layers_that_peft_adapts() {
    let (case, _) = golden::load("peft/expected.safetensors");
    let matches = case["matches"].as_array().expect("matches");
    assert!(matches.len() >= 24);
    for pair in matches {
        let (json, expected) = (pair[0].to_string(), &pair[1]);
        let mut model = Transformer::new().unwrap();
        let adapted = PeftConfig::from_json(&json).and_then(|config| {
            let select = config.select(&model)?;
            let report = lora::add_adapter(&mut model, "default", select, &config.lora)?;
            Ok(report.matched)
        });
        match expected.is_null() {
            true => assert!(adapted.is_err(), "{json}"),
            false => assert_eq!(*expected, Value::from(adapted.unwrap()), "{json}"),
        }
    }
}

/// The transformer inside another model, as Hugging Face wraps it.
#[derive(Module)]
struct Wrapped {
    model: Transformer,
}

#[test]
fn paths_may_differ_by_a_prefix() {
    let recorded = Recorded::read();
    for name in [
        "plain",
        "rslora_patterns",
        "bias_all",
        "modules_to_save",
        "regex",
    ] {
        let mut whole = Wrapped {
            model: Transformer::new().unwrap(),
        };
        let within = golden::path("peft/transformer.safetensors");
        let report = whole.model.load(&within).unwrap();
        assert!(report.not_loaded.is_empty());
        let mut part = base("transformer");
        lora::load_pretrained(&mut *part, folder(name), "mine").unwrap();

        // From the part to the whole, which has a name before each path.
        let adapter = PeftAdapter::with_prefix(&*part, "mine", "model").unwrap();
        assert!(
            adapter
                .tensors
                .keys()
                .all(|key| key.starts_with("base_model.model.model."))
        );
        adapter.add_to(&mut whole, "mine").unwrap();
        whole.eval();
        let (input, expected) = (
            recorded.tensor(name, "input"),
            recorded.tensor(name, "output"),
        );
        let output = answer(&whole.model, input.clone());
        assert_close(&output, &expected, Tolerance::CONTRACTION, name);

        // And back.
        let adapter = PeftAdapter::of(&whole, "mine").unwrap();
        let mut part = base("transformer");
        assert!(adapter.add_to(&mut *part, "mine").is_err());
        adapter
            .add_to_prefixed(&mut *part, "mine", "model")
            .unwrap();
        part.eval();
        assert_close(
            &answer(&*part, input),
            &expected,
            Tolerance::CONTRACTION,
            name,
        );
    }
}
