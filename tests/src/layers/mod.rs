//! The registry of layers: each under PyTorch's name, with how to build it from the arguments that a golden file records
//! and how to call it.
//!
//! A family is a file of this folder with a function `entries`; `FAMILIES` lists them.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod activation;
mod attention;
mod batch_norm;
mod classification;
mod container;
mod convolution;
mod ctc;
mod dropout;
mod language;
mod linear;
mod linear_cross_entropy;
mod lookup;
mod loss;
mod margin;
mod normalization;
mod pad;
mod parametrized;
mod pooling;
mod positions;
mod recurrent;
mod shape;
mod transformer;
mod vision;

mod arguments;
mod entry;
mod extreme;
mod on_device;
mod sample;

pub use arguments::Arguments;
pub use entry::{
    Built, Entry, NoArguments, Rebuilt, RoundTrip, built, layer, layer_with, loss, module, plain,
    triple,
};
pub use on_device::{Compare, differences};
pub use sample::{Sample, samples};

use module_nn::prelude::*;
use serde_json::Value;

/// Every family of layers.
const FAMILIES: &[fn() -> Vec<Entry>] = &[
    activation::entries,
    attention::entries,
    batch_norm::entries,
    classification::entries,
    container::entries,
    convolution::entries,
    ctc::entries,
    dropout::entries,
    language::entries,
    linear::entries,
    linear_cross_entropy::entries,
    lookup::entries,
    normalization::entries,
    pad::entries,
    loss::entries,
    margin::entries,
    parametrized::entries,
    pooling::entries,
    recurrent::entries,
    positions::entries,
    shape::entries,
    transformer::entries,
    vision::entries,
];

/// Every layer and loss.
pub fn registry() -> Vec<Entry> {
    FAMILIES.iter().flat_map(|entries| entries()).collect()
}

/// The entry of a layer, by PyTorch's name.
pub fn find(name: &str) -> Entry {
    let entry = registry().into_iter().find(|entry| entry.name == name);
    entry.unwrap_or_else(|| {
        panic!(
            "{name} is not in the registry: add a line to its family's file in `tests/src/layers`"
        )
    })
}

/// Builds the layer of a description: `layer` with `kwargs`.
pub fn build(description: &Value) -> Result<Box<dyn Layer>> {
    let name = description["layer"].as_str().expect("a layer");
    find(name).layer(&description["kwargs"])
}

/// A floating-point dtype by its name in the golden files.
pub fn dtype(name: &Value) -> DType {
    match name.as_str() {
        Some("f32") => DType::F32,
        Some("f64") => DType::F64,
        Some("f16") => DType::F16,
        Some("bf16") => DType::BF16,
        _ => panic!("an unknown dtype: {name}"),
    }
}
