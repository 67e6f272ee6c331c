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

impl ConvSizes {
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
