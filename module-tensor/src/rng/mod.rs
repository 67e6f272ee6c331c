//! Random numbers: PyTorch's, bit for bit, on the CPU.
//!
//! A model that is initialized here from a seed has the weights that PyTorch gives it from the same
//! seed. A [`Generator`] is a handle to the random numbers of one device; [`default_generator`] is the
//! CPU's, which every draw uses unless another is given. [`manual_seed`] seeds it, and [`fork_rng`] replaces it
//! while a closure runs. [`CpuGenerator`] is the engine behind it and fills slices with numbers of its distributions.
//!
//! A device may draw its own numbers ([`Backend::generator`](crate::backend::Backend::generator)). Draws for a device
//! without a generator come from the CPU's, so a seed gives the same values there.
//!
//! # What depends on the platform
//!
//! Integers, permutations, Bernoulli draws, uniforms, and `f32`, `f16` and `bf16` normals of sixteen
//! values or more use nothing but IEEE 754 basic operations: they are the same everywhere. The rest
//! calls the platform's `log`, `log1p`, `sin` and `cos` through [`f64`]'s methods, as PyTorch calls its
//! own platform's. Of these, `f64` normals and exponentials may differ between platforms in the last
//! bit; draws rounded to `f32` or less (normals of fewer than sixteen values, exponentials) hide that
//! bit in all but about one of 2²⁸ draws.

mod default;
mod generator;
#[cfg(test)]
mod tests;

pub use crate::backend::cpu::rng::{
    CpuGenerator, GeneratorState, RandomFloat, RandomInteger, STATE_BYTES,
};
pub use crate::backend::{DeviceGenerator, Distribution};
pub use crate::error::RngError;
pub use default::{default_generator, fork_rng, initial_seed, manual_seed};
pub use generator::Generator;
