//! The device under test.
#![allow(clippy::expect_used)]

use module_gpu::Gpu;
use module_nn::prelude::*;

/// The first adapter; `None`, with a message, on a machine without one. With `MODULE_GPU_REQUIRED=1` that is a failure. With
/// `MODULE_GPU_TENSOR_CORES=1`, it is opened with its tensor cores.
pub(crate) fn device() -> Option<Device> {
    let is_set = |name| std::env::var(name).is_ok_and(|value| value == "1");
    let open = match is_set("MODULE_GPU_TENSOR_CORES") {
        true => module_gpu::device_with_tensor_cores,
        false => module_gpu::device,
    };
    match open(0) {
        Ok(device) => Some(device),
        Err(error) => {
            assert!(!is_set("MODULE_GPU_REQUIRED"), "no GPU: {error}");
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
