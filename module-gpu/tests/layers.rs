//! Every layer of the registry on the device, forward and backward.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use module_nn::prelude::*;
use module_tests::golden::{Tolerance, compare};
use module_tests::layers::differences;

/// The tolerances of the recorded layers (`golden_layer_families`).
fn close(what: &str, a: &Tensor, b: &Tensor) -> std::result::Result<(), String> {
    let normalizes = what.contains("Norm") || what.starts_with("Transformer");
    let tolerance = match normalizes && what.contains(": gradient of ") {
        true => Tolerance::DIFFERENCE,
        false => Tolerance::CONTRACTION,
    };
    compare(a, b, tolerance)
}

/// The layers whose names contain `MODULE_GPU_LAYER`, or all.
#[test]
fn every_layer_runs_forward_and_backward() {
    let Some(device) = common::device() else {
        return;
    };
    let failures = differences(&device, close, |name| {
        std::env::var("MODULE_GPU_LAYER").map_or(true, |wanted| name.contains(&wanted))
    });
    assert!(
        failures.is_empty(),
        "{} differences:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
