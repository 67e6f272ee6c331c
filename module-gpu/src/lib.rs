//! A GPU as a device of `module-tensor`: kernels in WGSL, run by Vulkan, Metal or DirectX 12.
//!
//! [`device`] opens an adapter of the machine and returns its [`Device`](module_tensor::Device). Tensors, models and optimizers
//! are then used as on the CPU:
//!
//! ```
//! use module_tensor::{DType, Tensor};
//!
//! if let Ok(device) = module_gpu::device(0) {
//!     let x = Tensor::randn([4, 3], (DType::F32, device))?;
//!     let w = Tensor::randn([3, 2], (DType::F32, device))?.with_grad()?;
//!     x.matmul(&w)?.tanh()?.sum(..)?.backward()?;
//!     assert_eq!(w.grad().unwrap().device(), device);
//! }
//! # Ok::<(), module_tensor::Error>(())
//! ```
//!
//! Kernels are recorded and handed to the driver in groups; the host waits only where elements are read (`item`,
//! `to_vec`, `to_device`) and in [`Device::synchronize`](module_tensor::Device::synchronize). An error that is found
//! later names the operation that requested the work. Results do not change from run to run.
//!
//! Operations that the device does not compute go through the CPU, with copies there and back; [`Gpu::stats`] counts
//! these calls.

// Tests of the crate share code with those of its public items.
#[cfg(test)]
extern crate self as module_gpu;

mod adapter;
mod backend;
mod device;
mod dims;
mod elem;
mod elementwise;
mod failures;
mod fold;
mod gpu;
mod host;
mod index_checks;
mod kernels;
mod lines;
mod lines_code;
mod map;
mod matrix_tiles;
mod packed;
mod pipelines;
mod pool;
mod product;
mod product_tile;
mod recorder;
mod spread;
mod staging;
mod stats;
mod storage;
#[cfg(test)]
mod tests;
mod tiles;
mod transfer;
mod wait;

pub use adapter::{Adapter, adapters};
pub use device::{device, device_with_tensor_cores};
pub use gpu::Gpu;
pub use stats::Stats;
