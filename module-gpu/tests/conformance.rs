//! Every recorded call of every family on the device, compared with PyTorch.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use module_conformance::suites;

/// The families whose names contain `MODULE_GPU_SUITE`, or all.
#[test]
fn every_family_conforms() {
    let Some(device) = common::device() else {
        return;
    };
    // The masks that were recorded.
    common::gpu(&device).set_cpu_dropout(true);
    let wanted = std::env::var("MODULE_GPU_SUITE").unwrap_or_default();
    let mut failures = Vec::new();
    for suite in suites() {
        if !suite.name().contains(&wanted) {
            continue;
        }
        let start = std::time::Instant::now();
        let found = suite.check(&device);
        eprintln!(
            "{}: {} differences in {:?}",
            suite.name(),
            found.len(),
            start.elapsed()
        );
        failures.extend(
            found
                .into_iter()
                .map(|found| format!("{}: {found}", suite.name())),
        );
    }
    assert!(
        failures.is_empty(),
        "{} differences:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
