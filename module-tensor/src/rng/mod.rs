//! Random numbers: PyTorch's, bit for bit, on the CPU.
//!
//! A model that is initialized from a seed has the weights that PyTorch gives it from the same seed. A [`Generator`] is a
//! handle to the random numbers of one device; [`default_generator`] is the CPU's, from which all numbers are drawn unless
//! another generator is given. [`manual_seed`] seeds it, and [`fork_rng`] replaces it while a closure runs. [`CpuGenerator`]
//! is the engine behind it, and fills slices with random numbers.
//!
//! A device may draw its own numbers ([`Backend::generator`](crate::backend::Backend::generator)). Draws for a device
//! without a generator come from the CPU's, so a seed gives the same values there.
//!
//! # What depends on the platform
//!
//! Integers, permutations, Bernoulli draws, uniform numbers, and `f32`, `f16` and `bf16` normal numbers in draws of
//! sixteen or more use nothing but basic operations of IEEE 754: they are the same everywhere. All others call the
//! platform's `log`, `log1p`, `sin` and `cos` through [`f64`]'s methods, as PyTorch calls those of its platform.
//! Therefore normal and exponential numbers in `f64` may differ between platforms in the last bit. Rounded to `f32` or
//! less, they differ in about one of 2²⁸ draws.

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
