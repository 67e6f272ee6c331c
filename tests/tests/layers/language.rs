//! Building blocks of language models, compared with Hugging Face's transformers.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod attention;
mod cache;
mod rotary;
mod texts;
mod transposed;

use module_nn::prelude::*;
use module_tests::golden;
use serde_json::Value;

/// The cases of a kind, and all recorded tensors.
fn recorded(kind: &str) -> (Vec<Value>, StateDict) {
    recorded_in("language_models", kind)
}

/// The cases of a kind in a file, and all its tensors.
fn recorded_in(file: &str, kind: &str) -> (Vec<Value>, StateDict) {
    let (cases, tensors) = golden::load(format!("{file}.safetensors"));
    (cases[kind].as_array().unwrap().clone(), tensors)
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}
