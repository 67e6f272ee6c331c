//! Random numbers: PyTorch's, bit for bit, on the CPU.
//!
//! A model that is initialized here from a seed has the weights that PyTorch gives it from the same
//! seed. A [`Generator`] is a handle to the random numbers of one device; [`default_generator`] is the
//! CPU's that everything draws from unless told otherwise, which [`manual_seed`] seeds and [`fork_rng`]
//! replaces for the length of a closure. [`CpuGenerator`] is the engine behind the CPU's, with its distributions
//! for slices of numbers.
//!
//! A device may draw its own numbers ([`Backend::generator`](crate::backend::Backend::generator)). What is drawn for a device
//! that has no generator comes from the CPU's, so that a seed gives the same values there.
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
