//! What is above the device: adapters, the audit, hooks and checkpoints give the same as on the CPU.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use module_nn::prelude::*;
use module_tests::on_device::differences;

#[test]
fn nothing_above_the_device_depends_on_it() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    let before = common::gpu(&device).stats().host_routes;
    let found = differences(&device)?;
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert_eq!(common::gpu(&device).stats().host_routes, before);
    Ok(())
}
