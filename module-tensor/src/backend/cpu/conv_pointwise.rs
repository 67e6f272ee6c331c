//! Convolutions whose kernel is one element: products of the weight with the channels of each sample.

#[cfg(test)]
mod tests;

use super::ConvOp;
use super::conv::ConvSizes;
use super::conv_windows::Source;
use super::float::Float;
use super::gemm::{Matrix, MatrixMut, multiply};
use super::window::Window;
use crate::Result;

/// The approximate number of positions of a product of several samples.
const WIDE: usize = 512;

/// Samples with more positions are worked on one by one.
const SMALL: usize = 256;

/// The number of columns of the widest tile.
const TILE: usize = 32;

impl ConvSizes {
    /// How many samples a product has if it has several: small ones, of which each would leave a part of a tile empty. Their
    /// number changes no bits of an output or of an input's gradient, and does not depend on the level or the number of
    /// threads.
    pub(super) fn joined_pointwise(&self) -> Option<usize> {
        let positions = self.window.positions();
        let is_small = positions <= SMALL && !positions.is_multiple_of(TILE);
        if !self.window.is_pointwise() || !is_small || self.groups > 1 || self.is_thin() {
            return None;
        }
        let products = self.batch.div_ceil(WIDE.div_ceil(positions));
        // Even, so that two threads have as much to do each.
        let products = if products > 1 {
            products.next_multiple_of(2)
        } else {
            1
        };
        let samples = self.batch.div_ceil(products);
        (samples > 1).then_some(samples)
    }

    /// The output or a gradient, which overwrites `out`, by products of so many samples.
    pub(super) fn run_joined_pointwise<T: Float>(
        &self,
        op: ConvOp,
        samples: usize,
        [a, b]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<()> {
        let (o, window) = (self.out_channels, &self.window);
        let source = |channels: usize| Source::samples(channels, window.positions());
        match op {
            ConvOp::Forward => {
                let weight = |_| Matrix::new(b, o);
                self.forward(&source(window.channels), samples, a, &weight, out)
            }
            ConvOp::Input => {
                let weight = |_| Matrix::new(b, o).t();
                let turned = Self {
                    batch: self.batch,
                    groups: 1,
                    out_channels: window.channels,
                    window: Window {
                        channels: o,
                        ..*window
                    },
                };
                turned.forward(&source(o), samples, a, &weight, out)
            }
            ConvOp::Weight => self.weight_gradient(&source(window.channels), samples, a, b, out),
        }
    }

    /// The same with one sample and group; a gradient of the weight is added to `out`.
    pub(super) fn pointwise<T: Float>(&self, op: ConvOp, a: &[T], b: &[T], out: &mut [T]) {
        let (o, c) = (self.out_channels, self.window.channels);
        let (b, one) = (Matrix::new(b, o), T::one());
        match op {
            ConvOp::Forward => multiply(one, b, Matrix::new(a, c), false, MatrixMut::new(out, o)),
            ConvOp::Input => multiply(one, b.t(), Matrix::new(a, o), false, MatrixMut::new(out, c)),
            ConvOp::Weight => multiply(one, b, Matrix::new(a, c).t(), true, MatrixMut::new(out, o)),
        }
    }
}
