//! Convolutions with few channels, where a product of matrices would be one of vectors: sums of lines.

use super::ConvOp;
use super::conv::{ConvSizes, resized};
use super::float::Float;
use super::window::add_steps;
use crate::Result;
use crate::zip::{zip, zip_mut, zip_mut2};

/// The elements that are summed at a time.
const CHUNK: usize = 16;

impl ConvSizes {
    /// Each line of the output from the lines of the input under it, which have zeros around them so
    /// that all are read to their full length; the step along them is 1.
    pub(super) fn lines<T: Float>(
        &self,
        input: &[T],
        weight: &[T],
        out: &mut [T],
        buffer: &mut Vec<T>,
    ) -> Result<()> {
        let window = &self.window;
        let ([kd, kh, kw], [od, oh, ow]) = (window.kernel, window.output);
        let [id, ih, iw] = window.input;
        let ([sd, sh, _], [_, _, dw]) = (window.stride, window.dilation);
        // A line of the output reads so far, and the last one a whole chunk.
        let padded = ow + dw * (kw - 1);
        let lines = window.channels * id * ih;
        let buffer = resized(buffer, lines.saturating_mul(padded).saturating_add(CHUNK))?;
        let before = window.padding[2].min(padded);
        let inside = iw.min(padded - before);
        for (to, from) in buffer.chunks_exact_mut(padded).zip(input.chunks_exact(iw)) {
            to[..before].fill(T::zero());
            to[before..before + inside].copy_from_slice(&from[..inside]);
            to[before + inside..].fill(T::zero());
        }
        // Where each line of the kernel sees the input, and the line that it sees first.
        let seen: Vec<_> = (0..window.channels * kd * kh)
            .map(|row| {
                let (b, a, channel) = (row % kh, row / kh % kd, row / (kh * kd));
                let ((depths, z), (heights, y)) = (window.inside(0, a), window.inside(1, b));
                (depths, heights, (channel * id + z) * ih + y)
            })
            .collect();
        let mut taps = Vec::with_capacity(window.rows());
        for (line, out) in out.chunks_exact_mut(ow).enumerate() {
            let (h, d, channel) = (line % oh, line / oh % od, line / (oh * od));
            let weight = &weight[channel * window.rows()..(channel + 1) * window.rows()];
            taps.clear();
            for ((depths, heights, first), weight) in seen.iter().zip(weight.chunks_exact(kw)) {
                if depths.contains(&d) && heights.contains(&h) {
                    let line = (d - depths.start) * sd * ih + (h - heights.start) * sh;
                    let start = (first + line) * padded;
                    let weights = weight.iter().enumerate();
                    taps.extend(weights.map(|(c, &weight)| (weight, start + c * dw)));
                }
            }
            for (chunk, out) in out.chunks_mut(CHUNK).enumerate() {
                let mut sums = [T::zero(); CHUNK];
                for &(weight, start) in &taps {
                    let from = &buffer[start + chunk * CHUNK..][..CHUNK];
                    for (sum, v) in zip_mut(&mut sums, from) {
                        *sum = sum.plus(v.times(weight));
                    }
                }
                // A copy of known length is no call.
                match <&mut [T; CHUNK]>::try_from(&mut *out) {
                    Ok(out) => *out = sums,
                    Err(_) => zip_mut(out, &sums).for_each(|(out, &sum)| *out = sum),
                }
            }
        }
        Ok(())
    }

    /// Multiplies lines of the input by one element of the weight each.
    pub(super) fn run_shifted<T: Float>(&self, op: ConvOp, a: &[T], b: &[T], out: &mut [T]) {
        let window = &self.window;
        let (rows, windows, step) = (window.rows(), window.places(), window.stride[2]);
        let whole = window.whole();
        for channel in 0..self.out_channels {
            window.segments(&whole, |row, line, input, length| {
                let weight = channel * rows + row;
                let output = channel * windows + line;
                match op {
                    ConvOp::Forward => {
                        let (weight, out) = (b[weight], &mut out[output..output + length]);
                        for (out, v) in out.iter_mut().zip(a[input..].iter().step_by(step)) {
                            *out = out.plus(v.times(weight));
                        }
                    }
                    ConvOp::Input => {
                        let (weight, grad) = (b[weight], &a[output..output + length]);
                        add_steps(grad, |v| v.times(weight), step, &mut out[input..]);
                    }
                    ConvOp::Weight => {
                        let product = dot(&a[input..], step, &b[output..output + length]);
                        out[weight] = out[weight].plus(product);
                    }
                }
            });
        }
    }
}

/// The product of every `step`-th element of `a` with the elements of `b`.
fn dot<T: Float>(a: &[T], step: usize, b: &[T]) -> T {
    let mut sum = T::zero();
    if step > 1 {
        for (a, b) in a.iter().step_by(step).zip(b) {
            sum = sum.plus(a.times(*b));
        }
        return sum;
    }
    // Several sums side by side, as the processor computes them.
    let a = &a[..b.len()];
    let mut sums = [T::zero(); 8];
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    for (a, b) in zip(a, b) {
        for (sum, a, b) in zip_mut2(&mut sums, a, b) {
            *sum = sum.plus(a.times(*b));
        }
    }
    for (a, b) in zip(a_rest, b_rest) {
        sum = sum.plus(a.times(*b));
    }
    sums.into_iter().fold(sum, T::plus)
}
