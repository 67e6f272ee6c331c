//! The device under test.
#![allow(clippy::expect_used)]

use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// The device, for one test at a time: for tests that measure or count what the process does.
#[allow(dead_code, reason = "not every test measures")]
pub(crate) fn device_alone() -> Option<(Device, MutexGuard<'static, ()>)> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    Some((device()?, alone))
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
fn products(a: &Tensor, b: &Tensor) -> Result<[(&'static str, [Tensor; 2], Product); 4]> {
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

/// Checks products of factors that `draw` gives for their shapes, with so many matrices, rows, columns and terms, in each memory
/// order.
#[allow(dead_code, reason = "not every test multiplies")]
pub(crate) fn check_products(
    sizes: &[[usize; 4]],
    draw: impl Fn(&[usize]) -> Result<Tensor>,
    check: impl Fn(&str, [&Tensor; 2], Product) -> Result<()>,
) -> Result<()> {
    for &[batch, rows, columns, terms] in sizes {
        let (a, b) = (
            draw(&[batch, rows, terms])?,
            draw(&[batch, terms, columns])?,
        );
        for (order, [a, b], product) in products(&a, &b)? {
            let name = format!("{batch} of {rows} x {columns} with {terms} terms, {order}");
            check(&name, [&a, &b], product)?;
        }
    }
    Ok(())
}

/// How far a function of two tensors on the device is from its value in `F64` on the CPU, and that value. The name is that of the
/// comparison.
#[allow(dead_code, reason = "not every test compares such functions")]
pub(crate) fn errors_of(
    device: &Device,
    name: &str,
    [a, b]: [&Tensor; 2],
    f: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<[Tensor; 2]> {
    let exact = f(&a.to_dtype(DType::F64)?, &b.to_dtype(DType::F64)?)?;
    let got = f(&a.to_device(device)?, &b.to_device(device)?)?;
    let expected = (exact.shape(), a.dtype());
    assert_eq!((got.shape(), got.dtype()), expected, "{name}");
    let got = got.to_device(&Device::cpu())?.to_dtype(DType::F64)?;
    Ok([(got - &exact)?.abs()?, exact])
}
