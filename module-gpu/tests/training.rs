//! Training on the device: no step goes through the host.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;
#[path = "common/steps.rs"]
mod steps;

use common::gpu;
use module_nn::prelude::*;
use steps::{STEPS, Step};

/// At most these launches and bytes to the device for each of [`STEPS`]: the positions of GPT-2.
const COSTS: [[u64; 2]; 3] = [[181, 0], [122, 384], [554, 0]];

/// Asserts that a step does not wait for the device or go through the host, and prints what it costs.
fn check_step(device: &Device, name: &str, mut step: Step, costs: [u64; 2]) -> Result<()> {
    // The first step compiles kernels, and makes the optimizer's state.
    let first = step()?.item::<f32>()?;
    let before = gpu(device).stats();
    let loss = step()?;
    let after = gpu(device).stats();
    assert_eq!(before.host_routes, after.host_routes, "{name}");
    assert_eq!(before.waits, after.waits, "{name}");
    let second = loss.item::<f32>()?;
    assert!(
        second.is_finite() && second != first,
        "{name}: {first} and {second}"
    );
    let launches = after.launches - before.launches;
    let uploaded = after.uploaded - before.uploaded;
    println!(
        "{name}: {launches} launches, {uploaded} bytes to the device, losses {first} and {second}"
    );
    assert!(launches <= costs[0] && uploaded <= costs[1], "{name}");
    assert_eq!(after.downloaded, before.downloaded, "{name}");
    Ok(())
}

#[test]
fn no_step_goes_through_the_host() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    for ((name, step), costs) in STEPS.into_iter().zip(COSTS) {
        check_step(&device, name, step(device)?, costs)?;
    }
    Ok(())
}
