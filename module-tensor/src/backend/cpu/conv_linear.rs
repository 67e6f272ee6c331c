//! Convolutions whose kernel covers the whole input: linear layers, whose product has a row for each sample.

use super::ConvOp;
use super::conv::ConvSizes;
use super::float::Float;
use super::gemm::{Matrix, MatrixMut, multiply};

impl ConvSizes {
    /// Whether each output is a sum over a whole sample, and there are several samples.
    pub(super) fn is_linear(&self) -> bool {
        let window = &self.window;
        let is_whole = window.kernel == window.input && window.padding == [0; 3];
        is_whole && self.groups == 1 && self.batch > 1
    }

    /// The output or a gradient, which overwrites `out`, if it [is linear](Self::is_linear).
    pub(super) fn run_linear<T: Float>(&self, op: ConvOp, a: &[T], b: &[T], out: &mut [T]) {
        let (samples, o, one) = (self.batch, self.out_channels, T::one());
        let a = Matrix::new(a, samples);
        match op {
            ConvOp::Forward => {
                let weight = Matrix::new(b, o).t();
                multiply(one, a, weight, false, MatrixMut::new(out, samples));
            }
            ConvOp::Input => {
                let weight = Matrix::new(b, o);
                multiply(one, a, weight, false, MatrixMut::new(out, samples));
            }
            ConvOp::Weight => {
                let grad = Matrix::new(b, samples).t();
                multiply(one, grad, a, false, MatrixMut::new(out, o));
            }
        }
    }
}
