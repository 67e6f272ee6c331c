//! PyTorch's CPU generator, bit for bit.
//!
//! The distributions are those of PyTorch 2.15 on x86-64 with AVX2 or better. They draw the same words
//! in the same order, and round where PyTorch rounds: sixteen-bit values are computed in `f32` and
//! rounded once, `a * b + c` is fused where PyTorch's compilers fuse it.

mod bernoulli;
mod box_muller;
mod cephes;
mod draw;
mod exponential;
mod float;
mod fused;
mod generator;
mod integers;
mod mt19937;
mod normal;
mod rounding;
mod state;
#[cfg(test)]
mod tests;
mod trunc_normal;
mod uniform;

pub use float::RandomFloat;
pub use generator::CpuGenerator;
pub use integers::RandomInteger;
pub use state::{GeneratorState, STATE_BYTES};

use crate::error::RngError;
