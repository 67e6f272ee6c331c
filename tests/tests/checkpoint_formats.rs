//! Checkpoints of PyTorch and NumPy load exactly, or say why they do not.
#![allow(clippy::expect_used, clippy::unwrap_used)]

use module_core::{ErrorKind, ReadOptions, Result, StateDict, Tensor};
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};
use serde_json::Value;

fn cases() -> (Vec<Value>, StateDict) {
    let (cases, tensors) = golden::load("checkpoints/expected.safetensors");
    (cases.as_array().expect("a list of cases").clone(), tensors)
}

fn read(file: &str, entry: Option<&str>, mmap: bool) -> Result<StateDict> {
    let options = ReadOptions::new().mmap(mmap);
    let options = match entry {
        Some(entry) => options.entry(entry),
        None => options,
    };
    StateDict::load_with(golden::path("checkpoints").join(file), &options)
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn pairs<'a>(value: &'a Value, state: &'a StateDict) -> Vec<[(&'a str, &'a Tensor); 2]> {
    let named = |key: &'a Value| (text(key), state.get(text(key)).expect("a key of the file"));
    let pairs = value.as_array().expect("a list").iter();
    pairs
        .map(|pair| [named(&pair[0]), named(&pair[1])])
        .collect()
}

#[test]
fn files_of_pytorch_and_numpy_load_exactly() {
    let (cases, expected) = cases();
    let mut files = 0;
    for case in cases.iter().filter(|case| case["error"].is_null()) {
        let (file, entry) = (text(&case["file"]), case["entry"].as_str());
        let name = format!("{file}, entry {entry:?}");
        for mmap in [true, false] {
            let state = read(file, entry, mmap).expect(&name);
            let keys: Vec<&str> = case["keys"].as_array().unwrap().iter().map(text).collect();
            assert_eq!(state.keys().collect::<Vec<_>>(), keys, "{name}");
            for (key, tensor) in state.iter() {
                let recorded = format!("{file}/{}/{key}", entry.unwrap_or_default());
                let recorded = expected.get(&recorded).expect(&name);
                compare(tensor, recorded, Tolerance::EXACT)
                    .map_err(|problem| format!("{name}, {key}: {problem}"))
                    .unwrap();
                assert!(!tensor.requires_grad());
            }
            let ties = pairs(&case["ties"], &state);
            let shared = pairs(&case["shared"], &state);
            for [(one, a), (other, b)] in &shared {
                assert!(a.shares_memory_with(b), "{name}: {one} and {other}");
                let tie = ties.iter().any(|[x, y]| (x.0, y.0) == (one, other));
                assert_eq!(tie, a.layout() == b.layout(), "{name}: {one} and {other}");
            }
        }
        files += 1;
    }
    assert!(files >= 49, "only {files} files");
}

#[test]
fn what_is_no_state_dict_is_refused_with_the_cure() {
    let (cases, _) = cases();
    let mut refused = 0;
    for case in cases.iter().filter(|case| !case["error"].is_null()) {
        let (file, entry) = (text(&case["file"]), case["entry"].as_str());
        let error = read(file, entry, true).expect_err(file);
        assert!(
            matches!(error.kind(), ErrorKind::Format { .. }),
            "{error:?}"
        );
        let message = error.to_string();
        for words in case["error"].as_array().unwrap().iter().map(text) {
            assert!(message.contains(words), "{file}: {message}\nlacks: {words}");
        }
        refused += 1;
    }
    assert!(refused >= 20, "only {refused} files");
}

#[test]
fn a_file_of_pytorch_loads_into_a_module() {
    let layer = Linear::new(1, 1).unwrap();
    let path = golden::path("checkpoints/ordered.legacy.pt");
    let report = layer.load(&path).unwrap();
    assert_eq!(report.loaded, ["weight", "bias"]);
    let state = StateDict::load(path).unwrap();
    let weight = layer.weight().tensor();
    compare(&weight, state.get("weight").unwrap(), Tolerance::EXACT).unwrap();
}
