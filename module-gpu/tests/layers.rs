//! Every layer of the registry on the device, forward and backward.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use module_nn::prelude::*;
use module_tests::golden::{Tolerance, compare};
use module_tests::layers::differences;

/// The tolerances of the recorded layers (`golden_layer_families`). Gradients here are of sums of outputs times sines, of which
/// some are 0 except for rounding: as on a device without fused families (`every_layer/mirror.rs`), they may differ by 2e-6.
fn close(what: &str, a: &Tensor, b: &Tensor) -> std::result::Result<(), String> {
    let (normalizes, is_gradient) = (
        what.contains("Norm") || what.starts_with("Transformer"),
        what.contains(": gradient of "),
    );
    let tolerance = match normalizes && is_gradient {
        true => Tolerance::DIFFERENCE,
        false => Tolerance::CONTRACTION,
    };
    compare(a, b, tolerance).or_else(|difference| {
        let rounding = module_nn::Tolerance::new().rtol(2e-5).atol(2e-6);
        let is_rounding = is_gradient && a.allclose(b, rounding).unwrap_or(false);
        if is_rounding { Ok(()) } else { Err(difference) }
    })
}

/// The layers whose names contain `MODULE_GPU_LAYER`, or all.
#[test]
fn every_layer_runs_forward_and_backward() {
    let Some(device) = common::device() else {
        return;
    };
    // The masks that were recorded.
    common::gpu(&device).set_cpu_dropout(true);
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
