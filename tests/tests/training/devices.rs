//! Adapters, the audit, hooks and checkpoints on another device.

use module_mirror::mirror;
use module_nn::prelude::*;
use module_tests::on_device::differences;

#[test]
fn nothing_above_the_device_depends_on_it() -> Result<()> {
    let found = differences(&mirror(&[])?)?;
    assert!(found.is_empty(), "{}", found.join("\n"));
    Ok(())
}
