//! Convolutions with few channels, where a product of matrices would be one of vectors.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::ConvOp;
use super::conv::{ConvSizes, resized};
use super::conv_planes::{FEW, MANY, Planes, copy_line};
use super::float::Float;
use super::simd::{Loop, run_at_best_level};
use super::window::add_steps;
use crate::Result;
use crate::zip::{zip, zip_mut, zip_mut2};

/// The elements of the kernel whose gradients are summed at a time.
const TAPS: usize = 4;

impl ConvSizes {
    /// One sample and group; the planes are nothing where they would be too large.
    pub(super) fn run_few_channels<T: Float>(
        &self,
        op: ConvOp,
        a: &[T],
        b: &[T],
        out: &mut [T],
        (planes, buffer): (Option<&Planes>, &mut Vec<T>),
    ) -> Result<()> {
        match (op, planes) {
            (ConvOp::Forward, Some(planes)) => self.sum_taps(a, b, out, (planes, buffer))?,
            (ConvOp::Forward, None) => self.write_shifted(a, b, out),
            (ConvOp::Input, _) => self.add_shifted_input(a, b, out),
            (ConvOp::Weight, Some(planes)) => {
                self.sum_tap_gradients(a, b, out, (planes, buffer))?;
            }
            (ConvOp::Weight, None) => self.add_shifted_weights(a, b, out),
        }
        Ok(())
    }

    /// The output of one sample and group.
    fn sum_taps<T: Float>(
        &self,
        input: &[T],
        weight: &[T],
        out: &mut [T],
        (planes, buffer): (&Planes, &mut Vec<T>),
    ) -> Result<()> {
        let (window, width) = (&self.window, self.window.output[2]);
        let positions = planes.positions;
        let buffer = resized(buffer, planes.len.saturating_add(positions))?;
        let (data, sums) = buffer.split_at_mut(planes.len);
        planes.fill(input, data);
        let mut taps: Vec<(T, usize)> = Vec::with_capacity(planes.starts.len());
        let weights = weight.chunks_exact(window.rows());
        for (weight, out) in weights.zip(out.chunks_exact_mut(window.positions())) {
            taps.clear();
            taps.extend(zip(weight, &planes.starts).map(|(&weight, &start)| (weight, start)));
            run_at_best_level(TapSums {
                planes: data,
                taps: &taps,
                sums: &mut sums[..positions],
            });
            for (out, &start) in out.chunks_exact_mut(width).zip(&planes.outputs) {
                copy_line(&sums[start..][..width], out);
            }
        }
        Ok(())
    }

    /// Adds the gradient of the weight by one sample and group.
    fn sum_tap_gradients<T: Float>(
        &self,
        input: &[T],
        grad: &[T],
        out: &mut [T],
        (planes, buffer): (&Planes, &mut Vec<T>),
    ) -> Result<()> {
        let (window, width) = (&self.window, self.window.output[2]);
        let positions = planes.positions;
        let buffer = resized(buffer, planes.len.saturating_add(positions))?;
        let (data, spread) = buffer.split_at_mut(planes.len);
        planes.fill(input, data);
        let mut sums = vec![T::zero(); planes.starts.len()];
        let grads = grad.chunks_exact(window.positions());
        for (grad, out) in grads.zip(out.chunks_exact_mut(window.rows())) {
            // Between the lines there stay zeros.
            for (grad, &start) in grad.chunks_exact(width).zip(&planes.outputs) {
                copy_line(grad, &mut spread[start..][..width]);
            }
            run_at_best_level(TapGradients {
                planes: data,
                starts: &planes.starts,
                grad: &spread[..positions],
                sums: &mut sums,
            });
            let finite = |sum: &T| sum.times(T::zero()) == T::zero();
            if sums.iter().all(finite) {
                zip_mut(out, &sums).for_each(|(out, &sum)| *out = out.plus(sum));
            } else {
                // An infinity may have been multiplied by a zero between the lines.
                self.add_shifted_weight(input, grad, out);
            }
        }
        Ok(())
    }

    /// Writes the output as lines of the input times one element of the weight each.
    fn write_shifted<T: Float>(&self, input: &[T], weight: &[T], out: &mut [T]) {
        let window = &self.window;
        let (rows, windows, step) = (window.rows(), window.positions(), window.stride[2]);
        out.fill(T::zero());
        for channel in 0..self.out_channels {
            window.segments(&window.whole(), |row, line, start, length| {
                let weight = weight[channel * rows + row];
                let out = &mut out[channel * windows + line..][..length];
                for (out, v) in out.iter_mut().zip(input[start..].iter().step_by(step)) {
                    *out = out.plus(v.times(weight));
                }
            });
        }
    }

    /// Adds the gradient of the weight as products of lines with lines.
    fn add_shifted_weights<T: Float>(&self, input: &[T], grad: &[T], out: &mut [T]) {
        let window = &self.window;
        let grads = grad.chunks_exact(window.positions());
        for (grad, out) in grads.zip(out.chunks_exact_mut(window.rows())) {
            self.add_shifted_weight(input, grad, out);
        }
    }

    /// Adds the gradient of the input: lines of the gradient times one element of the weight each.
    fn add_shifted_input<T: Float>(&self, grad: &[T], weight: &[T], out: &mut [T]) {
        let window = &self.window;
        let (rows, windows, step) = (window.rows(), window.positions(), window.stride[2]);
        for channel in 0..self.out_channels {
            window.segments(&window.whole(), |row, line, input, length| {
                let weight = weight[channel * rows + row];
                let grad = &grad[channel * windows + line..][..length];
                add_steps(grad, |v| v.times(weight), step, &mut out[input..]);
            });
        }
    }

    /// Adds the gradient of the weight of an output channel: products of lines with lines.
    pub(super) fn add_shifted_weight<T: Float>(&self, input: &[T], grad: &[T], out: &mut [T]) {
        let window = &self.window;
        window.segments(&window.whole(), |row, line, start, length| {
            let product = dot(&input[start..], window.stride[2], &grad[line..][..length]);
            out[row] = out[row].plus(product);
        });
    }
}

/// The sums of stretches of the planes, each times a weight.
struct TapSums<'a, T> {
    planes: &'a [T],
    /// Each weight, and where its stretch starts.
    taps: &'a [(T, usize)],
    sums: &'a mut [T],
}

impl<T: Float> Loop for TapSums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (many, few) = self.sums.as_chunks_mut::<MANY>();
        let done = many.len() * MANY;
        for (i, sums) in many.iter_mut().enumerate() {
            sum_taps(self.planes, self.taps, i * MANY, sums);
        }
        for (i, sums) in few.as_chunks_mut::<FEW>().0.iter_mut().enumerate() {
            sum_taps(self.planes, self.taps, done + i * FEW, sums);
        }
    }
}

#[inline(always)]
fn sum_taps<T: Float, const N: usize>(
    planes: &[T],
    taps: &[(T, usize)],
    at: usize,
    out: &mut [T; N],
) {
    let mut sums = [T::zero(); N];
    for &(weight, start) in taps {
        let from = &planes[start + at..][..N];
        for (sum, v) in zip_mut(&mut sums, from) {
            *sum = sum.plus(v.times(weight));
        }
    }
    // Assigning the array would be a call.
    zip_mut(out, &sums).for_each(|(out, &sum)| *out = sum);
}

/// The sums of the products of stretches of the planes with the gradient.
struct TapGradients<'a, T> {
    planes: &'a [T],
    /// Where each stretch starts.
    starts: &'a [usize],
    grad: &'a [T],
    sums: &'a mut [T],
}

impl<T: Float> Loop for TapGradients<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let grad = self.grad.as_chunks::<FEW>().0;
        let stretch = |start: usize| &self.planes[start..].as_chunks::<FEW>().0[..grad.len()];
        for (starts, out) in self.starts.chunks(TAPS).zip(self.sums.chunks_mut(TAPS)) {
            let last = starts[starts.len() - 1];
            let start = |i: usize| starts.get(i).copied().unwrap_or(last);
            let (a, b) = (stretch(start(0)), stretch(start(1)));
            let (c, d) = (stretch(start(2)), stretch(start(3)));
            // Arrays of their own: the compiler would take one lane of each for a vector.
            let (mut sums_a, mut sums_b) = ([T::zero(); FEW], [T::zero(); FEW]);
            let (mut sums_c, mut sums_d) = ([T::zero(); FEW], [T::zero(); FEW]);
            for i in 0..grad.len() {
                add_products(&mut sums_a, &a[i], &grad[i]);
                add_products(&mut sums_b, &b[i], &grad[i]);
                add_products(&mut sums_c, &c[i], &grad[i]);
                add_products(&mut sums_d, &d[i], &grad[i]);
            }
            for (out, sums) in zip_mut(out, &[sums_a, sums_b, sums_c, sums_d]) {
                *out = sums.iter().fold(T::zero(), |total, &sum| total.plus(sum));
            }
        }
    }
}

#[inline(always)]
fn add_products<T: Float, const N: usize>(sums: &mut [T; N], a: &[T; N], b: &[T; N]) {
    for (sum, a, b) in zip_mut2(sums, a, b) {
        *sum = sum.plus(a.times(*b));
    }
}

/// The product of every `step`-th element of `a` with the elements of `b`.
fn dot<T: Float>(a: &[T], step: usize, b: &[T]) -> T {
    let pairs = a.iter().step_by(step).zip(b);
    pairs.fold(T::zero(), |sum, (a, b)| sum.plus(a.times(*b)))
}
