//! 1, 2 and 4 ranks compute what one process computes with the whole batch.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::equality::check;
use common::nets::{Language, Net, Perceptron, Residual};
use module_dist::LocalComm;
use module_nn::{DType, Result};

const STEPS: usize = 50;

fn compare<N: Net>() -> Result<()> {
    for size in [1, 2, 4] {
        for (dtype, tolerance) in [(DType::F32, 1e-6), (DType::F64, 1e-12)] {
            LocalComm::run(size, |comm| check::<N>(&comm, dtype, STEPS, tolerance))?;
        }
    }
    Ok(())
}

#[test]
fn a_perceptron() -> Result<()> {
    compare::<Perceptron>()
}

#[test]
fn a_residual_network_with_batch_normalization() -> Result<()> {
    compare::<Residual>()
}

#[test]
fn a_transformer_with_tied_weights() -> Result<()> {
    compare::<Language>()
}
