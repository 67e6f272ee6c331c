//! The device under test.
#![allow(clippy::expect_used)]

use module_gpu::Gpu;
use module_nn::prelude::*;

/// The first adapter; `None`, with a message, on a machine without one. With `MODULE_GPU_REQUIRED=1` that is a failure. With
/// `MODULE_GPU_TENSOR_CORES=1`, it is opened with its tensor cores.
#[allow(dead_code, reason = "not every test opens it like this")]
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

/// A function of two tensors.
#[allow(dead_code, reason = "not every test multiplies")]
pub(crate) type Product = fn(&Tensor, &Tensor) -> Result<Tensor>;

/// The product of `[batch, rows, terms]` and `[batch, terms, columns]` in each memory order: a name, the factors, and the function.
#[allow(dead_code, reason = "not every test multiplies")]
pub(crate) fn products(
    a: &Tensor,
    b: &Tensor,
) -> Result<[(&'static str, [Tensor; 2], Product); 4]> {
    let across = |x: &Tensor| x.transpose(1, 2)?.contiguous();
    let [a_across, b_across] = [across(a)?, across(b)?];
    Ok([
        ("in order", [a.clone(), b.clone()], |a, b| a.matmul(b)),
        ("left across", [a_across.clone(), b.clone()], |a, b| {
            a.transpose(1, 2)?.matmul(b)
        }),
        ("right across", [a.clone(), b_across.clone()], |a, b| {
            a.matmul(&b.transpose(1, 2)?)
        }),
        ("both across", [a_across, b_across], |a, b| {
            a.transpose(1, 2)?.matmul(&b.transpose(1, 2)?)
        }),
    ])
}
