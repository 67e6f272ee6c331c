//! State dicts: PyTorch's messages if one does not fit, and all-or-nothing loading.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod atomic;
mod deferred;
mod former_keys;
mod hooks;
mod keys;
mod one_version;
mod options;
mod report;
mod ties;
mod transpose;

use module_nn::IndexMap;
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};
use serde_json::Value;

/// Cases with a different outcome here, with the reason.
const OURS: [(&str, &str); 5] = [
    (
        "missing num_batches_tracked, with version 2",
        "a state dict carries no version here, so that it is read as a file is",
    ),
    (
        "missing num_batches_tracked, without a version",
        "a counter that the state dict lacks was not matched, and the report says so",
    ),
    ("empty, not strict", "nothing that fits is an error"),
    (
        "tied, under its first name",
        "the tensor came under its other name, as `safetensors.torch.load_model` has it",
    ),
    ("tied, under its second name", "as under its first"),
];

#[derive(Module)]
struct Block {
    fc1: Linear,
    norm: BatchNorm1d,
}

#[derive(Module)]
struct Net {
    scale: Parameter,
    table: Buffer,
    encoder: Vec<Block>,
    head: Linear,
}

/// With its extra state declared before everything else.
#[derive(Module)]
struct Extra {
    extra: ExtraState,
    inner: Linear,
    table: Buffer,
    scale: Parameter,
}

fn extra() -> Extra {
    Extra {
        extra: ExtraState::new(Tensor::from([0_i64, 1, 2])),
        inner: Linear::new(1, 1).unwrap(),
        table: Buffer::new(floats([0.0; 2])),
        scale: Parameter::new(Tensor::from(1.0_f32)).unwrap(),
    }
}

#[derive(Module)]
struct TiedLinears {
    encoder: Linear,
    decoder: Linear,
}

#[derive(Module)]
struct Tied {
    encoder: Linear,
    decoder: Linear,
    statistics: Buffer,
    again: Buffer,
}

fn tied() -> Tied {
    let encoder = LinearConfig::new(3, 5).bias(false).build().unwrap();
    let mut decoder = Linear::new(3, 5).unwrap();
    decoder.tie_weight(encoder.weight()).unwrap();
    let statistics = Buffer::new(floats([0.0; 2]));
    let again = statistics.share();
    Tied {
        encoder,
        decoder,
        statistics,
        again,
    }
}

fn floats<const N: usize>(values: [f32; N]) -> Tensor {
    Tensor::from(values)
}

fn net() -> Net {
    let block = || -> Result<Block> {
        Ok(Block {
            fc1: Linear::new(3, 4)?,
            norm: BatchNorm1d::new(4)?,
        })
    };
    let make = || -> Result<Net> {
        Ok(Net {
            scale: Parameter::new(Tensor::from(1.0_f32))?,
            table: Buffer::new(floats([0.0; 2])),
            encoder: vec![block()?, block()?],
            head: Linear::new(4, 2)?,
        })
    };
    make().unwrap()
}

/// The model of a recorded case; a linear layer is recognized by its tensors.
fn model(case: &Value) -> Box<dyn Module> {
    let linear = |inputs, outputs, bias| {
        let config = LinearConfig::new(inputs, outputs).bias(bias);
        config.build().unwrap()
    };
    match case["class"].as_str() {
        Some("Net") => Box::new(net()),
        Some("Extra") => Box::new(extra()),
        Some("Tied") => {
            let encoder = LinearConfig::new(3, 5).bias(false).build().unwrap();
            let mut decoder = linear(3, 5, true);
            decoder.tie_weight(encoder.weight()).unwrap();
            Box::new(TiedLinears { encoder, decoder })
        }
        Some("Sequential") if case["model"][0][0] == "net.weight" => Box::new(
            Sequential::new()
                .push_named("net", linear(3, 4, true))
                .unwrap(),
        ),
        Some("Sequential") => Box::new(
            Sequential::new()
                .push(linear(3, 4, true))
                .push(ReLU::new())
                .push(linear(4, 2, true)),
        ),
        _ => {
            let size =
                |d: usize| usize::try_from(case["model"][0][1][d].as_u64().unwrap()).unwrap();
            let bias = case["model"].as_array().unwrap().len() > 1;
            Box::new(linear(size(1), size(0), bias))
        }
    }
}

/// `[key, shape, dtype]` of every tensor.
fn describe(state: &StateDict) -> Value {
    let entry = |(key, value): (&str, &Tensor)| {
        serde_json::json!([key, value.shape().to_vec(), value.dtype().to_string()])
    };
    state.iter().map(entry).collect()
}

fn zeros(described: &Value) -> StateDict {
    let entries = described.as_array().expect("a list of tensors").iter();
    let tensor = |entry: &Value| {
        let sizes = entry[1].as_array().expect("a shape").iter();
        let shape: Vec<usize> = sizes
            .map(|s| usize::try_from(s.as_u64().unwrap()).unwrap())
            .collect();
        let name = entry[2].as_str().expect("a dtype");
        let dtype = DType::ALL
            .into_iter()
            .find(|dtype| dtype.to_string() == name)
            .unwrap();
        let key = entry[0].as_str().expect("a key").to_owned();
        (key, Tensor::zeros(shape, dtype).unwrap())
    };
    entries.map(tensor).collect()
}

/// Panics if two state dicts differ in a key or a bit.
#[track_caller]
fn assert_same(actual: &StateDict, expected: &StateDict, label: &str) {
    assert!(actual.keys().eq(expected.keys()), "{label}: other keys");
    for (key, value) in actual.iter() {
        let expected = expected.get(key).unwrap();
        if let Err(difference) = compare(value, expected, Tolerance::EXACT) {
            panic!("{label}: {key}: {difference}");
        }
    }
}

/// PyTorch's text with shapes printed as in this library.
fn with_plain_shapes(text: &str) -> String {
    text.replace("torch.Size(", "").replace("])", "]")
}

fn check(case: &Value) -> std::result::Result<(), String> {
    let model = model(case);
    let before = model.state_dict().unwrap();
    if describe(&before) != case["model"] {
        return Err(format!("the model is {}", describe(&before)));
    }
    let options = LoadOptions::new().strict(case["strict"] == true);
    let result = model.load_state_dict_with(&zeros(&case["loaded"]), options);
    match (result, case["error"].as_str()) {
        (Ok(report), None) => {
            let found = serde_json::json!([report.missing, report.unexpected]);
            let expected = serde_json::json!([case["missing"], case["unexpected"]]);
            if found != expected {
                return Err(format!("{found} instead of {expected}"));
            }
            // The number of loaded keys, and the keys that were not loaded, follow PyTorch's text.
            let text = report.to_string();
            let text = match report.missing.is_empty() && report.unexpected.is_empty() {
                true => text.as_str(),
                false => text.lines().next().unwrap_or_default(),
            };
            if case["repr"] != text {
                return Err(format!("{report} instead of {}", case["repr"]));
            }
            Ok(())
        }
        (Err(error), Some(expected)) => {
            let Some(problems) = error.downcast_ref::<LoadProblems>() else {
                panic!("{error}");
            };
            assert_same(&model.state_dict().unwrap(), &before, "after the error");
            // If nothing fits, a line before PyTorch's text says so, and lists are truncated.
            let mut text = problems.full().to_string();
            if problems.loaded > 0 {
                assert_eq!(error.to_string(), text);
            } else {
                let (first, rest) = text.split_once('\n').unwrap();
                assert!(first.starts_with("0 of "), "{text}");
                text = rest.to_owned();
            }
            // Our additions follow PyTorch's text.
            let text = text.split("\n\t\"").next().unwrap_or_default();
            let text = text.split("\n\tthe keys of").next().unwrap_or_default();
            let text = text.split("\n\tthe transposes").next().unwrap_or_default();
            let expected = with_plain_shapes(expected);
            if text != expected {
                return Err(format!("{text}\ninstead of\n{expected}"));
            }
            Ok(())
        }
        (Ok(_), Some(expected)) => Err(format!("loads instead of\n{expected}")),
        (Err(error), None) => Err(format!("does not load: {error}")),
    }
}

#[test]
fn errors_are_worded_as_in_pytorch() {
    let text = std::fs::read_to_string(golden::path("strict_errors.json")).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let cases = recorded["cases"].as_array().expect("a list of cases");
    assert!(cases.len() >= 36, "only {} cases", cases.len());
    let mut failures = Vec::new();
    for (name, _) in OURS {
        assert!(
            cases.iter().any(|case| case["name"] == name),
            "no case {name}"
        );
    }
    for case in cases {
        let listed = OURS.iter().any(|(name, _)| case["name"] == *name);
        match check(case) {
            Err(problem) if !listed => failures.push(format!("{}: {problem}", case["name"])),
            Ok(()) if listed => failures.push(format!("{} is listed and passes", case["name"])),
            _ => {}
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn a_missing_counter_stays_as_it_is() {
    let model = net();
    let counter = model
        .get_buffer("encoder.0.norm.num_batches_tracked")
        .unwrap();
    counter.set(Tensor::from(5_i64)).unwrap();
    let mut state = model.state_dict().unwrap();
    state.remove("encoder.0.norm.num_batches_tracked");
    let report = model.load_state_dict(&state).unwrap();
    // PyTorch 2.15 uses the module's own counter; the report says that it is not from the file.
    assert!(report.missing.is_empty());
    assert_eq!(report.not_loaded, ["encoder.0.norm.num_batches_tracked"]);
    assert_eq!(counter.tensor().item::<i64>().unwrap(), 5);
}

#[test]
fn a_slip_in_a_key_is_named() {
    let layer = Linear::new(2, 3).unwrap();
    let mut state = layer.state_dict().unwrap();
    let weight = state.remove("weight").unwrap();
    state.insert("wieght", weight);
    let error = layer.load_state_dict(&state).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("\n\t\"wieght\": did you mean \"weight\"?"),
        "{error}"
    );
}

#[test]
fn nothing_that_fits_is_an_error_that_changes_nothing() {
    let model = net();
    let before = model.state_dict().unwrap();
    let state: StateDict = before
        .iter()
        .map(|(key, value)| (format!("module.{key}"), value.zeros_like().unwrap()))
        .collect();
    let options = LoadOptions::new().strict(false);
    let error = model.load_state_dict_with(&state, options).unwrap_err();
    assert!(error.to_string().contains("module.scale"), "{error}");
    assert_same(&model.state_dict().unwrap(), &before, "after the error");
}

#[test]
fn one_element_loads_into_a_tensor_without_dimensions_only() {
    let model = net();
    let mut state = model.state_dict().unwrap();
    state.insert("scale", floats([7.0]));
    assert!(model.load_state_dict(&state).unwrap().not_loaded.is_empty());
    assert_eq!(model.scale.detach().item::<f32>().unwrap(), 7.0);
    assert_eq!(model.scale.shape().to_string(), "[]");
}

#[test]
fn values_are_cast_to_the_dtype_of_the_model() {
    let model = net();
    let mut state = model.state_dict().unwrap();
    let weight = model.head.weight().detach().to_dtype(DType::F64).unwrap();
    state.insert("head.weight", weight.add(0.5).unwrap());
    assert!(model.load_state_dict(&state).unwrap().missing.is_empty());
    assert_eq!(model.head.weight().tensor().dtype(), DType::F32);
}

#[test]
fn a_report_names_the_loaded_keys_and_the_others() {
    let model = net();
    let mut state = model.state_dict().unwrap();
    let all = state.len();
    state.remove("head.bias");
    state.insert("head.extra", floats([1.0]));
    state.insert("table", floats([1.0, 2.0, 3.0]));
    let options = LoadOptions::new().strict(false).allow_mismatch(true);
    let report = model.load_state_dict_with(&state, options).unwrap();
    assert_eq!(report.missing, ["head.bias"]);
    assert_eq!(report.unexpected, ["head.extra"]);
    assert_eq!(report.mismatched.len(), 1);
    assert_eq!(report.mismatched[0].key, "table");
    assert_eq!(report.not_loaded, ["table", "head.bias"]);
    assert_eq!(report.loaded.len(), all - 2);
}

#[test]
fn loading_keeps_gradients_modes_and_identities() {
    let model = net();
    let id = model.head.weight().id();
    let grad = model.head.weight().detach();
    model.head.weight().set_grad(grad).unwrap();
    model
        .get_parameter("head.bias")
        .unwrap()
        .set_requires_grad(false);
    model.eval();
    let state = net().state_dict().unwrap();
    assert!(model.load_state_dict(&state).unwrap().not_loaded.is_empty());
    assert_eq!(model.head.weight().id(), id);
    assert!(model.head.weight().grad().is_some());
    assert!(!model.get_parameter("head.bias").unwrap().requires_grad());
    assert!(!model.is_training());
    assert_same(&model.state_dict().unwrap(), &state, "loaded");
}
