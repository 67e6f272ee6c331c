//! Convolutions of each channel by a kernel of its own: the lines of one plane, or many small planes side by side.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

mod gradient;
mod lanes;
mod lines;
#[cfg(test)]
mod tests;

use super::conv::ConvSizes;
use super::float::Float;
use super::simd::Level;
use crate::Result;

impl ConvSizes {
    /// Whether there is a loop for one channel of each group.
    pub(super) fn is_depthwise<T: Float>(&self) -> bool {
        self.is_by_lanes() || (T::HAS_CONV_LOOPS && self.is_by_lines())
    }

    /// The output of one channel of each group.
    pub(super) fn run_depthwise<T: Float>(
        &self,
        input: &[T],
        weight: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let level = Level::highest();
        if const { T::HAS_CONV_LOOPS } && !self.is_by_lanes() {
            return self.run_by_lines(level, input, weight, out);
        }
        self.run_by_lanes(level, input, weight, out)
    }

    /// Adds the gradient of the kernels, if their planes have lines that fill vectors; returns whether they do.
    pub(super) fn run_depthwise_gradient<T: Float>(
        &self,
        input: &[T],
        grad: &[T],
        out: &mut [T],
    ) -> Result<bool> {
        if const { T::HAS_CONV_LOOPS } && self.is_by_lines() {
            self.run_gradient_by_lines(Level::highest(), input, grad, out)?;
            return Ok(true);
        }
        Ok(false)
    }
}

#[inline(always)]
fn multiply_add<T: Float, const FUSED: bool>(v: T, factor: T, sum: T) -> T {
    match FUSED {
        true => v.times_plus(factor, sum),
        false => sum.plus(v.times(factor)),
    }
}
