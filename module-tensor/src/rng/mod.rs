//! PyTorch's CPU generator, bit for bit.
//!
//! A model that is initialised here from a seed has the weights that PyTorch gives it from the same
//! seed. [`Generator`] is the engine with its distributions; [`with_default`] reaches the process-wide
//! one, which [`manual_seed`] seeds and [`fork_rng`] replaces for the length of a closure.
//!
//! The distributions are those of PyTorch 2.15 on x86-64 with AVX2 or better. They draw the same words
//! in the same order, and round where PyTorch rounds: sixteen-bit values are computed in `f32` and
//! rounded once, `a * b + c` is fused where PyTorch's compilers fuse it.
//!
//! # What depends on the platform
//!
//! Integers, permutations, Bernoulli draws, uniforms, and `f32`, `f16` and `bf16` normals of sixteen
//! values or more use nothing but IEEE 754 basic operations: they are the same everywhere. The rest
//! calls the platform's `log`, `log1p`, `sin` and `cos` through [`f64`]'s methods, as PyTorch calls its
//! own platform's. Of these, `f64` normals and exponentials may differ between platforms in the last
//! bit; draws rounded to `f32` or less (normals of fewer than sixteen values, exponentials) hide that
//! bit in all but about one of 2²⁸ draws.

mod bernoulli;
mod box_muller;
mod cephes;
mod default;
mod erf;
mod erfinv;
mod error;
mod exponential;
mod float;
mod fused;
mod generator;
mod integers;
mod mt19937;
mod normal;
mod state;
#[cfg(test)]
mod tests;
mod trunc_normal;
mod uniform;

pub use default::{fork_rng, initial_seed, manual_seed, with_default};
pub(crate) use erfinv::erfinv;
pub use error::RngError;
pub use float::RandomFloat;
pub use generator::Generator;
pub use integers::RandomInteger;
pub use state::{GeneratorState, STATE_BYTES};
