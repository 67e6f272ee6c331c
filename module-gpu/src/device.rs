//! The devices that are open.

use std::sync::{Mutex, PoisonError};

use module_tensor::{Device, Error, Result};

#[cfg(doc)]
use crate::Adapter;
use crate::adapter;
use crate::gpu::Gpu;

const NAME: &str = "device_with_tensor_cores";

/// The adapters that are open, by index.
static OPEN: Mutex<Vec<(usize, Device)>> = Mutex::new(Vec::new());

/// The device of the adapter with this index in the list of [`adapters`](crate::adapters). It is opened once, and then also
/// found by its name, `gpu:0`.
///
/// # Errors
///
/// No such adapter, or one that cannot be opened.
///
/// # Example
///
/// ```
/// use module_tensor::{Device, Tensor};
///
/// match module_gpu::device(0) {
///     Ok(device) => {
///         assert_eq!("gpu:0".parse::<Device>()?, device);
///         let x = Tensor::ones([2, 3], device)?;
///         assert_eq!(x.sum(..)?.item::<f32>()?, 6.0);
///     }
///     Err(error) => println!("{error}"),
/// }
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn device(index: usize) -> Result<Device> {
    open(index, false)
}

/// [`device`], whose tensor cores multiply matrices of `F16`, with sums in `F32`, in products, convolutions and attention. On an
/// NVIDIA H100, the product of two matrices of 4096 × 4096 takes a fifth of the time, or less. Other dtypes are computed as without.
///
/// Tensor cores are an experimental part of `wgpu`, so they are only used if a program asks for them, before it opens the adapter
/// in another way.
///
/// # Errors
///
/// Those of [`device`], an adapter without tensor cores that `wgpu` can use ([`Adapter::has_tensor_cores`]), one that is already
/// open without them.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, Tensor};
///
/// let device = match module_gpu::device_with_tensor_cores(0) {
///     Ok(device) => device,
///     Err(error) => {
///         println!("{error}");
///         return Ok(());
///     }
/// };
/// let x = Tensor::ones([64, 64], (DType::F16, device))?;
/// assert_eq!(x.matmul(&x)?.amax(..)?.to_dtype(DType::F32)?.item::<f32>()?, 64.0);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn device_with_tensor_cores(index: usize) -> Result<Device> {
    let device = open(index, true)?;
    match device.backend_as::<Gpu>() {
        Some(gpu) if gpu.has_tensor_cores() => Ok(device),
        _ => {
            let problem = "is already open without tensor cores; open it with them first";
            Err(Error::argument(NAME, "index", index, problem))
        }
    }
}

fn open(index: usize, tensor_cores: bool) -> Result<Device> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, device)) = open.iter().find(|(of, _)| *of == index) {
        return Ok(*device);
    }
    let mut all = adapter::found();
    if index >= all.len() {
        let problem = match all.len() {
            0 => "there is no adapter on this machine; install a driver for Vulkan, Metal or DirectX 12".to_owned(),
            count => format!("there are {count} adapters, counted from 0; `adapters` lists them"),
        };
        return Err(Error::argument("device", "index", index, problem));
    }
    let (adapter, about) = all.swap_remove(index);
    if tensor_cores && !about.has_tensor_cores {
        let problem = "has no tensor cores that multiply matrices of 16 × 16 float16 numbers; `device` opens it without";
        return Err(Error::argument(NAME, "index", index, problem));
    }
    let gpu = Box::leak(Box::new(Gpu::open(&adapter, about, tensor_cores)?));
    let device = Device::register(gpu)?;
    open.push((index, device));
    Ok(device)
}
