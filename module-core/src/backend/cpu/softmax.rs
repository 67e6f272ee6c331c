//! Softmax and its logarithm.

use super::float::Float;
use super::map::{FloatKernel, run_float};
use super::view::to_vec;
use super::{CpuStorage, Operand, SoftmaxOp, Storage};
use crate::Result;

pub(super) fn softmax(op: SoftmaxOp, x: Operand, dim: usize) -> Result<Storage> {
    run_float(x.storage.dtype(), Softmax(op, x, dim))
}

struct Softmax(SoftmaxOp, Operand, usize);

impl FloatKernel for Softmax {
    const NAME: &'static str = "softmax";
    type Output = Storage;

    fn run<T: Float>(self) -> Result<Storage> {
        let Self(op, x, dim) = self;
        let shape = x.layout.shape();
        let size = shape[dim];
        let inner: usize = shape[dim + 1..].iter().product();
        let mut values = to_vec::<T>(&x)?;
        if values.is_empty() {
            return Ok(CpuStorage::wrap(values));
        }
        let mut lane = vec![T::zero(); size];
        for outer in values.chunks_exact_mut(size * inner) {
            for i in 0..inner {
                for (j, v) in lane.iter_mut().enumerate() {
                    *v = outer[j * inner + i];
                }
                normalise(op, &mut lane);
                for (j, &v) in lane.iter().enumerate() {
                    outer[j * inner + i] = v;
                }
            }
        }
        Ok(CpuStorage::wrap(values))
    }
}

/// The greatest is subtracted first, so that no exponential overflows.
fn normalise<T: Float>(op: SoftmaxOp, lane: &mut [T]) {
    let max = lane.iter().fold(
        T::NEG_INFINITY,
        |max, &v| if v.is_nan() { v } else { max.greater(v) },
    );
    match op {
        SoftmaxOp::Softmax => {
            let mut sum = T::zero();
            for v in lane.iter_mut() {
                *v = v.minus(max).exp();
                sum = sum.plus(*v);
            }
            lane.iter_mut().for_each(|v| *v = *v / sum);
        }
        SoftmaxOp::LogSoftmax => {
            let sum = lane
                .iter()
                .fold(T::zero(), |sum, v| sum.plus(v.minus(max).exp()));
            let log = sum.ln();
            lane.iter_mut().for_each(|v| *v = v.minus(max).minus(log));
        }
    }
}
