//! Errors that the driver finds after the call that asked for the work.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use module_tensor::{DType, Device, Result, Tensor};

use crate::failures::Operations;
use crate::gpu::{Gpu, Launch};
use crate::recorder::MAX_GROUPS;
use crate::storage::GpuStorage;

/// Held by each test of the crate, as an error is told to the first who waits.
static ALONE: Mutex<()> = Mutex::new(());

pub(crate) fn alone() -> Option<(MutexGuard<'static, ()>, Device)> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    match crate::device(0) {
        Ok(device) => Some((alone, device)),
        Err(error) => {
            let is_required = std::env::var("MODULE_GPU_REQUIRED").is_ok_and(|value| value == "1");
            assert!(!is_required, "no GPU: {error}");
            None
        }
    }
}

fn gpu(device: Device) -> &'static Gpu {
    device.backend_as().unwrap()
}

fn memory_of(x: &Tensor) -> &GpuStorage {
    x.storage().downcast_ref().unwrap()
}

fn ones(device: Device) -> Result<Tensor> {
    Tensor::ones([8], (DType::F32, device))
}

/// Asserts that the next wait tells an error of these operations, once, and that the device goes on.
fn assert_told(device: Device, operations: &str) -> Result<()> {
    let error = device.synchronize().unwrap_err().to_string();
    let start = format!("gpu:0: {operations}: ");
    assert!(error.starts_with(&start), "{error}");
    device.synchronize()?;
    let x = ones(device)?;
    assert_eq!(x.add(&x)?.to_vec::<f32>()?, [2.0; 8]);
    Ok(())
}

/// Launches more workgroups than a driver accepts, which is found when the group is handed over.
fn launch_too_much(device: Device, op: &'static str) -> Result<()> {
    let (x, y) = (ones(device)?, ones(device)?);
    gpu(device).launch(Launch {
        op,
        key: "copy of a word".to_owned(),
        reads: &[&memory_of(&x).memory],
        writes: &[&memory_of(&y).memory],
        parameters: &[0],
        groups: (MAX_GROUPS + 1) * MAX_GROUPS,
        source: &|| {
            "@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(1) fn main() { b[0] = a[0]; }
"
            .to_owned()
        },
    })
}

#[test]
fn an_error_in_a_group_names_the_operations_of_the_group() -> Result<()> {
    let Some((_alone, device)) = alone() else {
        return Ok(());
    };
    let x = ones(device)?;
    // Of an earlier group.
    x.tanh()?;
    device.synchronize()?;
    launch_too_much(device, "too_much")?;
    assert_told(
        device,
        "one of full, too_much (`Gpu::set_group_size(1)` finds which)",
    )
}

#[test]
fn an_error_in_a_group_of_one_names_the_operation() -> Result<()> {
    let Some((_alone, device)) = alone() else {
        return Ok(());
    };
    gpu(device).set_group_size(1);
    let x = ones(device)?;
    x.tanh()?;
    launch_too_much(device, "too_much")?;
    x.mul(2.0)?;
    let told = assert_told(device, "too_much");
    gpu(device).set_group_size(64);
    told
}

#[test]
fn an_error_in_work_of_another_thread_names_its_operation() -> Result<()> {
    let Some((_alone, device)) = alone() else {
        return Ok(());
    };
    device.synchronize()?;
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| launch_too_much(device, "of_a_thread"));
        asked.join().unwrap()
    })?;
    ones(device)?.mul(3.0)?;
    assert_told(
        device,
        "one of full, of_a_thread, mul (`Gpu::set_group_size(1)` finds which)",
    )
}

#[test]
fn an_error_in_a_call_names_its_operation() -> Result<()> {
    let Some((_alone, device)) = alone() else {
        return Ok(());
    };
    let (x, lost) = (ones(device)?, ones(device)?);
    device.synchronize()?;
    x.mul(2.0)?;
    memory_of(&lost).memory.buffer().destroy();
    // The call itself returns.
    lost.add(&x)?;
    // Nobody may get this memory again.
    std::mem::forget(lost);
    assert_told(device, "add")
}

#[test]
fn memory_that_is_lost_before_it_is_used_is_told_with_the_operations() -> Result<()> {
    let Some((_alone, device)) = alone() else {
        return Ok(());
    };
    let (x, lost) = (ones(device)?, ones(device)?);
    device.synchronize()?;
    lost.add(&x)?.mul(2.0)?;
    memory_of(&lost).memory.buffer().destroy();
    std::mem::forget(lost);
    assert_told(
        device,
        "one of add, mul (`Gpu::set_group_size(1)` finds which)",
    )
}

#[test]
fn many_operations_are_counted() {
    let mut all = Operations::default();
    assert_eq!(all.to_string(), "synchronize");
    for op in ["a", "b", "a", "c", "d", "e", "f", "g", "h", "i", "j"] {
        all.add(op);
    }
    let told = "one of a, b, c, d, e, f, g, h and 2 more (`Gpu::set_group_size(1)` finds which)";
    assert_eq!(all.to_string(), told);
}
