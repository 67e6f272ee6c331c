//! Convolutions as products with the windows, a part of which is copied at a time.

mod factor;

use super::ConvOp;
use super::aligned_vec::Workspace;
use super::conv::ConvSizes;
use super::conv_planes::copy_line;
use super::float::Float;
use super::gemm::{Factor, Matrix, MatrixMut, multiply_factors};
use super::threads::{Items, parallel_for};
use crate::Result;
pub(super) use factor::Source;
use factor::Transposed;

impl ConvSizes {
    /// The output, or the gradient of the weight, by products with windows; `out` is overwritten, if they can be read.
    pub(super) fn run_windows<T: Float>(
        &self,
        op: ConvOp,
        [input, other]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<bool> {
        let Some(source) = &Source::planes(&self.window) else {
            return Ok(false);
        };
        let samples = self.samples_of_product();
        match op {
            ConvOp::Weight => self.weight_gradient(source, samples, input, other, out)?,
            _ => {
                let (o, len) = (self.out_channels, self.out_channels * self.window.rows());
                let weight = |group: usize| Matrix::new(&other[group * len..][..len], o);
                self.forward(source, samples, input, &weight, out)?;
            }
        }
        Ok(true)
    }

    /// The output by products with the weight of each group, of so many samples at a time; there is one group if they are more
    /// than one.
    pub(super) fn forward<'w, T: Float>(
        &self,
        source: &Source,
        samples: usize,
        input: &[T],
        weight: &(dyn Fn(usize) -> Matrix<'w, T> + Sync),
        out: &mut [T],
    ) -> Result<()> {
        let (o, positions, rows) = (
            self.out_channels,
            self.window.positions(),
            self.window.rows(),
        );
        let (input_len, len) = (samples * self.window.input_len(), samples * o * positions);
        let steps = (len * rows) / 32;
        let count = (self.batch * self.groups).div_ceil(samples);
        parallel_for(count, steps, Items(out, len), &|range, out| {
            let mut memory = [Workspace::new(), Workspace::new()];
            let [data, joined] = &mut memory;
            let data = source.room(samples, data);
            for (block, out) in range.zip(out.0.chunks_mut(len)) {
                let input = &input[block * input_len..];
                let input = &input[..input_len.min(input.len())];
                let windows = source.windows(input, data);
                let weight = weight(block % self.groups);
                if samples == 1 {
                    multiply_factors(&weight, &windows, false, MatrixMut::new(out, o));
                    continue;
                }
                let joined = joined.of(out.len());
                multiply_factors(&weight, &windows, false, MatrixMut::new(joined, o));
                for (sample, out) in out.chunks_exact_mut(o * positions).enumerate() {
                    let channels = joined.chunks_exact(windows.columns());
                    for (out, channel) in out.chunks_exact_mut(positions).zip(channels) {
                        copy_line(&channel[sample * positions..][..positions], out);
                    }
                }
            }
            Ok(())
        })
    }

    /// The gradient of the weight, which overwrites `out`, by products of so many samples at a time.
    pub(super) fn weight_gradient<T: Float>(
        &self,
        source: &Source,
        samples: usize,
        input: &[T],
        grad: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let (o, positions, rows) = (
            self.out_channels,
            self.window.positions(),
            self.window.rows(),
        );
        let (groups, count) = (self.groups, self.batch.div_ceil(samples));
        let steps = (self.batch * o * positions).saturating_mul(rows) / 32;
        // The samples of each group one after the other, so that they are added in one order.
        parallel_for(groups, steps, Items(out, o * rows), &|range, mut out| {
            let mut memory = [const { Workspace::new() }; 2];
            let [data, joined] = &mut memory;
            let data = source.room(samples, data);
            for (i, group) in range.enumerate() {
                for step in 0..count {
                    let block = step * samples * groups + group;
                    let here = samples.min(self.batch - step * samples);
                    let input = &input[block * self.window.input_len()..];
                    let input = &input[..here * self.window.input_len()];
                    let windows = source.windows(input, data);
                    let grad = &grad[block * o * positions..][..here * o * positions];
                    let grad = match here {
                        1 => grad,
                        _ => join(grad, o, positions, joined.of(grad.len())),
                    };
                    let (grad, out) = (Matrix::new(grad, o), MatrixMut::new(out.at(i), o));
                    multiply_factors(&grad, &Transposed(&windows), step > 0, out);
                }
            }
            Ok(())
        })
    }
}

/// `[samples, channels, positions]` as `[channels, samples · positions]`.
pub(super) fn join<'a, T: Float>(
    x: &[T],
    channels: usize,
    positions: usize,
    to: &'a mut [T],
) -> &'a [T] {
    let joined = x.len() / channels;
    for (sample, x) in x.chunks_exact(channels * positions).enumerate() {
        for (channel, x) in x.chunks_exact(positions).enumerate() {
            copy_line(
                x,
                &mut to[channel * joined + sample * positions..][..positions],
            );
        }
    }
    to
}
