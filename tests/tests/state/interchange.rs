//! We read files written by PyTorch, and PyTorch has read files written here.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use module_nn::functional::{CrossEntropyOptions, cross_entropy};
use module_nn::prelude::*;
use module_tests::digits::Digits;
use module_tests::files::adler32;
use module_tests::golden::{self, Tolerance, assert_close};
use serde_json::Value;

/// `pytorch_digits.safetensors` has no case, unlike the other golden files.
fn pytorch_file() -> PathBuf {
    golden::path("pytorch_digits.safetensors")
}

fn rust_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("golden/rust")
        .join(name)
}

/// A network with different weights, into which those of the file are loaded.
fn loaded() -> Digits {
    let model = fork_rng(7, || Digits::new(8, 0.1)).unwrap();
    let report = model.load(pytorch_file()).unwrap();
    assert!(report.not_loaded.is_empty() && report.unexpected.is_empty());
    model
}

#[test]
fn a_file_of_pytorch_loads_strictly_and_gives_its_logits() {
    let (case, expected) = golden::load("pytorch_digits_expected.safetensors");
    let get = |name: &str| expected.get(name).expect("recorded");
    let model = loaded();
    let keys: Vec<Value> = model
        .state_dict()
        .unwrap()
        .keys()
        .map(Value::from)
        .collect();
    assert_eq!(case["keys"], Value::from(keys));
    assert_eq!(case["repr"], *model.tree().to_string());

    model.eval();
    let logits = no_grad(|| model.call(get("input").clone())).unwrap();
    assert_close(&logits, get("logits_eval"), Tolerance::CONTRACTION, "eval");

    model.train();
    let logits = fork_rng(0, || model.call(get("input").clone())).unwrap();
    assert_close(
        &logits.detach(),
        get("logits_train"),
        Tolerance::CONTRACTION,
        "train",
    );
    let options = CrossEntropyOptions::new().label_smoothing(0.1);
    let loss = cross_entropy(&logits, get("labels"), options).unwrap();
    assert_close(&loss.detach(), get("loss"), Tolerance::CONTRACTION, "loss");
    loss.backward().unwrap();
    for (name, parameter) in model.named_parameters() {
        let grad = parameter.grad().expect("a gradient");
        let key = format!("grad.{name}");
        assert_close(&grad, get(&key), Tolerance::CONTRACTION, &key);
    }
    for (name, buffer) in model.named_buffers() {
        let key = format!("buffer_after.{name}");
        assert_close(&buffer.tensor(), get(&key), Tolerance::CONTRACTION, &key);
    }
}

#[test]
fn what_is_saved_equals_what_pytorch_saved() {
    let directory = scratch("saved");
    let path = directory.join("digits.safetensors");
    loaded().save(&path).unwrap();
    // The same tensors under the same metadata are the same file.
    assert_eq!(
        std::fs::read(&path).unwrap(),
        std::fs::read(pytorch_file()).unwrap()
    );
    std::fs::remove_dir_all(directory).unwrap();
}

/// An empty directory for this test.
fn scratch(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("interchange-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// The network of the committed file: weights of seed 3, statistics of one batch in training.
fn of_the_committed_file() -> Digits {
    let model = fork_rng(3, || Digits::new(4, 0.1)).unwrap();
    let input = images();
    fork_rng(4, || model.call(input)).unwrap();
    model
}

/// Eight images whose pixels both sides compute in the same way: `(i mod 17) / 16`.
fn images() -> Tensor {
    let pixels = (0..8 * 64).map(|i: u16| f32::from(i % 17) / 16.0);
    Tensor::from_vec(pixels.collect(), [8, 1, 8, 8]).unwrap()
}

/// Set to rewrite the file, after which `golden/check_rust_file.py` must be run again.
const WRITE: &str = "WRITE_GOLDEN";

#[test]
fn the_committed_file_equals_a_newly_written_one() {
    let path = rust_file("digits.safetensors");
    let model = of_the_committed_file();
    if std::env::var_os(WRITE).is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        model.save(&path).unwrap();
    }
    let committed = StateDict::load(&path).unwrap();
    let state = model.state_dict().unwrap();
    let keys: Vec<&str> = state.keys().collect();
    let mut sorted: Vec<&str> = committed.keys().collect();
    assert_eq!(sorted.len(), keys.len());
    sorted.sort_unstable();
    for key in keys {
        assert!(sorted.binary_search(&key).is_ok(), "{key}");
        let (now, then) = (state.get(key).unwrap(), committed.get(key).unwrap());
        // The statistics of a batch are sums, which another CPU may add in a different order.
        assert_close(now, then, Tolerance::CONTRACTION, key);
    }
    // The same tensors give the same bytes.
    let directory = scratch("committed");
    let copy = directory.join("digits.safetensors");
    committed.save(&copy).unwrap();
    assert_eq!(std::fs::read(copy).unwrap(), std::fs::read(path).unwrap());
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn pytorch_read_the_committed_file_as_it_is_read_here() {
    let text = std::fs::read_to_string(rust_file("digits.check.json")).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let bytes = std::fs::read(rust_file("digits.safetensors")).unwrap();
    assert_eq!(recorded["bytes"], bytes.len());
    assert_eq!(
        recorded["adler32"],
        adler32(&bytes),
        "run check_rust_file.py again"
    );

    let model = Digits::new(4, 0.1).unwrap();
    let report = model.load(rust_file("digits.safetensors")).unwrap();
    assert!(report.not_loaded.is_empty());
    let described: Vec<Value> = model
        .state_dict()
        .unwrap()
        .iter()
        .map(|(key, value)| {
            let shape: Vec<usize> = value.shape().to_vec();
            serde_json::json!([key, shape, value.dtype().to_string()])
        })
        .collect();
    assert_eq!(recorded["keys"], Value::from(described));

    model.eval();
    let logits = no_grad(|| model.call(images())).unwrap();
    let numbers = recorded["logits"].as_array().expect("rows").iter();
    let numbers = numbers.flat_map(|row| row.as_array().expect("a row"));
    let numbers = numbers.map(|number| number.as_f64().expect("a number") as f32);
    let expected = Tensor::from_vec(numbers.collect(), [8, 10]).unwrap();
    assert_close(&logits, &expected, Tolerance::CONTRACTION, "logits");
}

/// `golden/check_rust_shards.py` uses the same rule: element `j` of tensor `k` is `(17·k + j) mod 251`.
fn of_the_committed_shards() -> StateDict {
    let shapes: [(&str, DType, &[usize]); 9] = [
        ("encoder.weight", DType::F32, &[6, 4]),
        ("encoder.bias", DType::F32, &[6]),
        ("wide", DType::F64, &[3, 2]),
        ("narrow", DType::F16, &[5]),
        ("brief", DType::BF16, &[2, 2, 2]),
        ("steps", DType::I64, &[]),
        ("whole", DType::I32, &[3]),
        ("byte", DType::U8, &[0, 4]),
        ("mask", DType::Bool, &[3]),
    ];
    let mut state = StateDict::new();
    for (k, (key, dtype, shape)) in shapes.into_iter().enumerate() {
        let numel = shape.iter().product();
        let values = (0..numel)
            .map(|j: usize| ((17 * k + j) % 251) as i64)
            .collect();
        let tensor = Tensor::from_vec(values, shape).unwrap();
        state.insert(key, tensor.to_dtype(dtype).unwrap());
    }
    let tied = state.get("encoder.weight").unwrap().clone();
    state.insert("decoder.weight", tied);
    let columns = state.get("wide").unwrap().t().unwrap();
    state.insert("transposed", columns);
    state
}

const SHARD_SIZE: usize = 60;

#[test]
fn the_committed_shards_equal_newly_written_ones() {
    let (state, scratch) = (of_the_committed_shards(), scratch("shards"));
    let (file, shards) = ("tied.safetensors", "sharded");
    let write = |directory: &Path| {
        state.save(directory.join(file)).unwrap();
        state
            .save_sharded(directory.join(shards), SHARD_SIZE)
            .unwrap();
    };
    if std::env::var_os(WRITE).is_some() {
        let _ = std::fs::remove_dir_all(rust_file(shards));
        write(&rust_file(""));
    }
    write(&scratch);
    let text = std::fs::read_to_string(rust_file("sharded.check.json")).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let files = recorded["files"].as_object().expect("files");
    assert!(files.len() > 4);
    for (name, record) in files {
        let bytes = std::fs::read(rust_file(name)).unwrap();
        assert_eq!(std::fs::read(scratch.join(name)).unwrap(), bytes, "{name}");
        let found = serde_json::json!([bytes.len(), adler32(&bytes)]);
        assert_eq!(*record, found, "run check_rust_shards.py again");
    }
    // Hugging Face's own sharding gives the same result.
    let index = std::fs::read_to_string(rust_file("sharded/model.safetensors.index.json")).unwrap();
    let index: Value = serde_json::from_str(&index).unwrap();
    assert_eq!(recorded["hub"]["weight_map"], index["weight_map"]);
    assert_eq!(
        recorded["hub"]["total_size"],
        index["metadata"]["total_size"]
    );
    // PyTorch read what was written.
    let described = state.iter().map(|(key, value)| {
        let shape: Vec<usize> = value.shape().to_vec();
        serde_json::json!([key, shape, value.dtype().to_string()])
    });
    assert_eq!(recorded["keys"], described.collect::<Value>());
    for path in [rust_file(file), rust_file(shards)] {
        let loaded = StateDict::load(path).unwrap();
        assert_eq!(loaded.len(), state.len());
        for (key, value) in state.iter() {
            let found = loaded.get(key).expect("the key").to_host().unwrap();
            assert_eq!(
                found.to_le_bytes(),
                value.to_host().unwrap().to_le_bytes(),
                "{key}"
            );
        }
        let [a, b] = ["encoder.weight", "decoder.weight"].map(|key| loaded.get(key).unwrap());
        assert!(a.shares_memory_with(b));
    }
    std::fs::remove_dir_all(scratch).unwrap();
}
