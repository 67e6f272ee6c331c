//! Checks of every layer of the registry, and that no layer is missing from it.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod configured;
mod mirror;
mod recorded;

use std::path::Path;

use module_nn::prelude::*;
use module_nn::with_default_dtype;
use module_tests::golden::{self, Tolerance, compare};
use module_tests::layers::{Built, RoundTrip, Sample, registry, samples};
use serde_json::Value;

/// Exports of `layers` and `loss` other than modules, their configurations and their inputs; and a part of another layer
/// that PyTorch does not have under a name of its own.
const NO_MODULES: &[&str] = &[
    "ActivationLayer",
    "Approximate",
    "BagMode",
    "InterpolateMode",
    "KLDivReduction",
    "KeyValueCache",
    "LinearCrossEntropyOptions",
    "Loss",
    "ModuleDict",
    "ModuleList",
    "NonDynamicallyQuantizableLinear",
    "NormLayer",
    "Padding",
    "PaddingMode",
    "ParameterDict",
    "ParameterList",
    "PositionLayout",
    "RNNNonlinearity",
    "Reduction",
    "RotaryScaling",
    "Sizes",
    "StochasticDepthMode",
    "SyncBatchNorm",
    "TransformerActivation",
    "WithIndices",
    "convert_sync_batchnorm",
];

/// Layers that are printed under another library's name, which differs from one of PyTorch's only in case.
const PRINTED_AS: &[(&str, &str)] = &[("TransposedLinear", "Conv1D")];

/// The printed name of a layer.
fn printed_name(name: &'static str) -> &'static str {
    let other = PRINTED_AS.iter().find(|(own, _)| *own == name);
    other.map_or(name, |(_, printed)| printed)
}

#[track_caller]
fn assert_equal(actual: &StateDict, expected: &StateDict, label: &str) {
    assert!(actual.keys().eq(expected.keys()), "{label}");
    for (key, value) in actual.iter() {
        let same = compare(value, expected.get(key).unwrap(), Tolerance::EXACT);
        same.unwrap_or_else(|difference| panic!("{label}: {key}: {difference}"));
    }
}

#[test]
fn every_layer_has_a_recorded_case() {
    let samples = samples();
    for entry in registry() {
        let cases = samples.iter().filter(|s| s.entry.name == entry.name);
        assert!(
            cases.count() > 0,
            "{} has no case: record some in `tests/golden/layers_<family>.py`",
            entry.name
        );
    }
    let mut names: Vec<&str> = registry().iter().map(|entry| entry.name).collect();
    names.sort_unstable();
    assert!(names.is_sorted_by(|a, b| a < b), "a name twice: {names:?}");
}

#[test]
fn every_layer_saves_and_loads() {
    let folder = std::env::temp_dir().join(format!("every_layer_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (i, sample) in samples().iter().enumerate() {
        let (one, other) = (sample.built(0), sample.built(1));
        let file = folder.join(format!("{i}.safetensors"));
        one.module().save(&file).unwrap();
        let report = other.module().load(&file).unwrap();
        assert!(report.not_loaded.is_empty(), "{}", sample.name());
        let outputs = (sample.run(&*one), sample.run(&*other));
        assert_eq!(outputs.0.len(), outputs.1.len());
        for (a, b) in outputs.0.iter().zip(&outputs.1) {
            golden::assert_close(a, b, Tolerance::EXACT, &sample.name());
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_layer_resets_to_its_initial_values() {
    for sample in samples() {
        // Only construction draws its vectors: a reset restores those of the construction.
        if sample.case["kwargs"]["norm"] == "spectral_norm" {
            continue;
        }
        let fresh = sample.built(0).module().state_dict().unwrap();
        let built = sample.built(1);
        let module = built.module();
        if sample.case["mode"] == "train" {
            // Moves running statistics.
            fork_rng(0, || no_grad(|| built.run(&sample.arguments()))).unwrap();
        }
        fork_rng(0, || module.reset_parameters()).unwrap();
        assert_equal(&module.state_dict().unwrap(), &fresh, &sample.name());
    }
}

#[test]
fn every_layer_casts() {
    for sample in samples() {
        let built = sample.built(0);
        let module = built.module();
        for dtype in [DType::F64, DType::F16, DType::BF16, DType::F32] {
            let before: Vec<DType> = module.buffers().map(|b| b.tensor().dtype()).collect();
            module.to_dtype(dtype).unwrap();
            assert!(
                module.parameters().all(|p| p.dtype() == dtype),
                "{}",
                sample.name()
            );
            for (buffer, before) in module.buffers().zip(before) {
                let expected = if before.is_floating_point() {
                    dtype
                } else {
                    before
                };
                assert_eq!(buffer.tensor().dtype(), expected, "{}", sample.name());
            }
        }
        // Casting up and down again changes nothing.
        let (fresh, built) = (sample.built(0), sample.built(0));
        built.module().double().unwrap();
        built.module().float().unwrap();
        let state = |built: &dyn Built| built.module().state_dict().unwrap();
        assert_equal(&state(&*built), &state(&*fresh), &sample.name());
    }
}

#[test]
fn every_layer_computes_in_the_dtype_it_was_cast_to() {
    for sample in samples() {
        let built = sample.built(0);
        built.module().double().unwrap();
        let cast = |x: &Tensor| match x.dtype() {
            DType::F32 => x.to_dtype(DType::F64).unwrap(),
            _ => x.clone(),
        };
        let inputs = sample.inputs.iter().map(cast).collect();
        let double = Sample { inputs, ..sample };
        for output in double.run(&*built) {
            let dtype = output.dtype();
            let expected = !dtype.is_floating_point() || dtype == DType::F64;
            assert!(expected, "{} gives {dtype}", double.name());
        }
    }
}

#[test]
fn every_layer_freezes() {
    for sample in samples() {
        let built = sample.built(0);
        let module = built.module();
        module.set_requires_grad(false);
        assert_eq!(module.num_trainable(), 0, "{}", sample.name());
        assert!(module.parameters().all(|p| !p.tensor().requires_grad()));
        module.set_requires_grad(true);
        assert_eq!(
            module.num_trainable(),
            module.num_parameters(),
            "{}",
            sample.name()
        );
    }
}

#[test]
fn every_layer_prints_its_name() {
    for sample in samples() {
        let built = sample.built(0);
        let printed = built.module().tree().to_string();
        let name = printed_name(sample.entry.name);
        assert_eq!(built.module().kind(), name);
        assert!(printed.starts_with(&format!("{name}(")), "{printed}");
    }
}

#[test]
fn every_layer_is_debugged_as_its_tree() {
    for sample in samples() {
        let built = sample.built(0);
        let printed = built.module().tree().to_string();
        assert_eq!(built.debug(), printed, "{}", sample.name());
    }
}

/// Numbers are compared as numbers: 1 may come back as 1.0, or as a list of ones; the arguments of a nested layer come back
/// with its defaults.
fn comes_back(back: &Value, given: &Value) -> bool {
    match (back, given) {
        (Value::Object(back), Value::Object(given)) => (given.iter())
            .all(|(name, given)| back.get(name).is_some_and(|back| comes_back(back, given))),
        (Value::Number(back), Value::Number(given)) => back.as_f64() == given.as_f64(),
        (Value::Array(back), Value::Number(_)) => back.iter().all(|back| comes_back(back, given)),
        (back, given) => back == given,
    }
}

#[test]
fn every_configuration_survives_json() {
    for sample in samples() {
        let kwargs = &sample.case["kwargs"];
        let written = match sample.entry.round_trip(kwargs).unwrap() {
            RoundTrip::Same(written) => written,
            RoundTrip::Changed => panic!("{} changes", sample.name()),
            RoundTrip::NoConfiguration => {
                assert_eq!(
                    sample.entry.name, "Sequential",
                    "a configuration is missing"
                );
                continue;
            }
        };
        for (name, given) in kwargs.as_object().expect("arguments") {
            let back = &written[name];
            assert!(
                comes_back(back, given),
                "{} gives {back} for {name}",
                sample.name()
            );
        }
        let built = |kwargs| {
            let build = || with_default_dtype(DType::F32, || sample.entry.build(kwargs));
            fork_rng(0, build).unwrap().module().tree().to_string()
        };
        assert_eq!(built(&written), built(kwargs), "{}", sample.name());
    }
}

/// The names that a file exports by `pub use`.
fn exported(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../module-nn/src")
        .join(file);
    let source = std::fs::read_to_string(path).unwrap();
    let uses = source
        .split("pub use ")
        .skip(1)
        .map(|rest| rest.split(';').next().unwrap());
    let names = uses.flat_map(|path| {
        let list = path.rsplit("::").next().unwrap().trim_matches(['{', '}']);
        list.split(',')
            .map(|name| name.trim().trim_matches(['{', '}']).to_owned())
            .collect::<Vec<_>>()
    });
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn no_exported_layer_is_missing_from_the_registry() {
    let names: Vec<&str> = registry().iter().map(|entry| entry.name).collect();
    let mut exports = exported("layers/mod.rs");
    exports.extend(exported("loss/mod.rs"));
    assert!(exports.len() > 20, "only {exports:?}");
    assert!(
        exports.iter().all(|name| name != "*"),
        "name what is exported"
    );
    let missing: Vec<&String> = (exports.iter())
        .filter(|name| !name.ends_with("Config") && !name.ends_with("Input"))
        .filter(|name| !NO_MODULES.contains(&name.as_str()))
        .filter(|name| !names.contains(&name.as_str()))
        // The layers behind `Conv1d`, `Conv2d` and `Conv3d`.
        .filter(|name| !names.contains(&format!("{name}2d").as_str()))
        .collect();
    assert!(
        missing.is_empty(),
        "not in the registry: {missing:?}; add a line to the family's file in `tests/src/layers`, or the name to \
         `NO_MODULES` if it is not a module"
    );
}
