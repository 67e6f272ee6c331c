//! Compares every recorded call of an operation, forward and backward, with PyTorch: on the CPU, and on a second device
//! with and without its fused families.
#![allow(clippy::unwrap_used)]

mod enough;
mod linalg;

use module_conformance::ops::{REFUSED, REFUSED_FOR, run};
use module_conformance::{is_refused, suites};
use module_core::{DType, DTypeError, Device, ErrorKind, ShapeError, Tensor};
use module_mirror::{Family, mirror};
use module_nn::functional::{Reduction, binary_cross_entropy};
use module_tests::golden::{self, Case};

#[track_caller]
fn agree_on(device: &Device) {
    let mut failures = Vec::new();
    for suite in suites() {
        failures.extend(suite.check(device));
    }
    assert!(failures.is_empty(), "on {device}:\n{}", failures.join("\n"));
}

#[test]
fn the_cpu_agrees_with_pytorch() {
    agree_on(&Device::cpu());
}

#[test]
fn another_device_agrees_with_pytorch() {
    agree_on(&mirror(&[]).unwrap());
}

#[test]
fn a_device_without_fused_families_agrees_with_pytorch() {
    agree_on(&mirror(&Family::ALL).unwrap());
}

#[test]
fn a_device_without_one_fused_family_agrees_with_pytorch() {
    for family in Family::ALL {
        agree_on(&mirror(&[family]).unwrap());
    }
}

#[test]
fn what_is_refused_is_a_typed_error() {
    let (cases, tensors) = golden::load("ops.safetensors");
    let mut seen = 0;
    let cases = cases.as_array().unwrap().iter().map(Case::new);
    for case in cases.filter(is_refused) {
        seen += 1;
        let (out, _) = run(&case, &case.inputs(&tensors)).unwrap();
        let error = out.expect_err(&case.key);
        let typed = matches!(
            error.kind(),
            ErrorKind::DType(DTypeError::Mismatch { .. } | DTypeError::Unsupported { .. })
                | ErrorKind::Shape(ShapeError::Mismatch { .. })
        );
        assert!(typed, "{}: {error}", case.key);
    }
    assert_eq!(seen, REFUSED.len() + REFUSED_FOR.len());
    // Quotients of integers would round; so they are refused for one dtype too.
    let x = Tensor::from([1_i64, 2]);
    assert!(matches!(
        x.div(&x).unwrap_err().kind(),
        ErrorKind::DType(DTypeError::Unsupported {
            op: "div",
            dtype: DType::I64,
            ..
        })
    ));
}

#[test]
fn what_is_no_probability_is_refused_on_either_side() {
    let good = Tensor::from([0.5_f32, 1.0]);
    for wrong in [1.5_f32, -0.25, f32::NAN, f32::INFINITY] {
        let bad = Tensor::from([0.5_f32, wrong]);
        for (argument, input, target) in [("input", &bad, &good), ("target", &good, &bad)] {
            let error = binary_cross_entropy(input, target, None, Reduction::None);
            let error = error.unwrap_err().to_string();
            let quoted = format!("{argument} = {wrong}");
            assert!(error.contains(&quoted), "{error}");
        }
    }
}
