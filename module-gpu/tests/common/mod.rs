//! The device under test.
#![allow(clippy::expect_used)]

use module_gpu::Gpu;
use module_nn::prelude::*;

/// The first adapter; `None`, with a message, on a machine without one. With `MODULE_GPU_REQUIRED=1` that is a failure.
pub(crate) fn device() -> Option<Device> {
    match module_gpu::device(0) {
        Ok(device) => Some(device),
        Err(error) => {
            let is_required = std::env::var("MODULE_GPU_REQUIRED").is_ok_and(|value| value == "1");
            assert!(!is_required, "no GPU: {error}");
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// The kernels and the memory of a device of this crate.
#[allow(dead_code, reason = "not every test looks at them")]
pub(crate) fn gpu(device: &Device) -> &'static Gpu {
    device.backend_as().expect("the backend of this crate")
}
