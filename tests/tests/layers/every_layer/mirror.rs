//! Every layer runs on a second device, whose memory the CPU cannot read.

use module_mirror::{Family, mirror};
use module_nn::prelude::*;
use module_tests::golden::{Tolerance, compare};
use module_tests::layers::{Compare, differences};

fn check(device: &Device, compare: Compare) {
    let failures = differences(device, compare, |_| true);
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn every_layer_gives_the_same_bits_on_a_mirror() {
    let device = mirror(&[]).unwrap();
    check(&device, |_, a, b| compare(a, b, Tolerance::EXACT));
}

/// Rounding differs; a gradient that is zero except for rounding is equally small compared with the others.
fn close(_: &str, a: &Tensor, b: &Tensor) -> std::result::Result<(), String> {
    let close = || -> Result<bool> {
        let [a, b] = [a, b].map(|x| x.to_dtype(DType::F64));
        let (a, b) = (a?, b?);
        if a.shape() != b.shape() {
            return Ok(false);
        }
        a.allclose(
            &b,
            module_core::Tolerance::new()
                .rtol(2e-5)
                .atol(2e-6)
                .equal_nan(true),
        )
    };
    match close() {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("{a} instead of {b}")),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn every_layer_runs_on_a_mirror_without_fused_families() {
    check(&mirror(&Family::ALL).unwrap(), close);
}

#[test]
fn every_layer_runs_on_a_mirror_that_lacks_any_one_fused_family() {
    for family in Family::ALL {
        check(&mirror(&[family]).unwrap(), close);
    }
}
