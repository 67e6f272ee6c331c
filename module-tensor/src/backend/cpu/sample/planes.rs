//! Sampling of images channel by channel.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::super::aligned_vec::AlignedVec;
use super::super::float::Float;
use super::super::joined_runs::next;
use super::super::memory::filled;
use super::super::simd::{Loop, run_at_best_level};
use super::super::threads::{Items, SplitRows, parallel_for};
use super::super::view::to_row_major;
use super::super::{Operand, SampleOp};
use super::blocks::{STEPS, Sample, Taps};
use super::neighbors::{BLOCK, NOWHERE};
use crate::Result;
use crate::zip::{zip, zip_mut, zip_mut2, zip_mut3};

/// The operation for any number of channels.
pub(super) fn compute<T: Float>(
    sample: &Sample<'_, T>,
    op: SampleOp,
    a: &Operand,
    b: &Operand,
) -> Result<AlignedVec<T>> {
    let (a, b) = (to_row_major::<T>(a)?, to_row_major::<T>(b)?);
    match op {
        SampleOp::Forward => forward(sample, &a, &b),
        SampleOp::Input => input(sample, &a, &b),
        SampleOp::Weight => weight(sample, &a, &b),
    }
}

fn forward<T: Float>(sample: &Sample<'_, T>, x: &[T], weights: &[T]) -> Result<AlignedVec<T>> {
    let (channels, inner) = (sample.geometry.channels, sample.geometry.inner());
    sample.rows_of_locations(channels, &|n, block, indices, rows| {
        let planes = x[n * channels * inner..].chunks_exact(inner);
        let taps = sample.taps(n, block.start, weights, indices);
        let mut values = [T::zero(); BLOCK];
        for (x, sums) in planes.zip(rows) {
            for (tap, indices) in indices.iter().enumerate() {
                read(x, &indices[..block.len()], &mut values);
                run_at_best_level(AddProducts {
                    sums,
                    factors: taps.weights(tap, block.len()),
                    values: &values,
                    indices,
                });
            }
        }
    })
}

fn weight<T: Float>(sample: &Sample<'_, T>, x: &[T], grad: &[T]) -> Result<AlignedVec<T>> {
    let (_, channels, locations) = sample.sizes();
    let inner = sample.geometry.inner();
    sample.rows_of_locations(sample.neighbors.taps, &|n, block, indices, rows| {
        let mut values = [T::zero(); BLOCK];
        for plane in n * channels..(n + 1) * channels {
            for (indices, sums) in indices.iter().zip(&mut *rows) {
                let x = &x[plane * inner..][..inner];
                read(x, &indices[..block.len()], &mut values);
                run_at_best_level(AddProducts {
                    sums,
                    factors: &grad[plane * locations..][block.clone()],
                    values: &values,
                    indices,
                });
            }
        }
    })
}

fn input<T: Float>(sample: &Sample<'_, T>, grad: &[T], weights: &[T]) -> Result<AlignedVec<T>> {
    let (batch, channels, locations) = sample.sizes();
    let inner = sample.geometry.inner();
    let mut out = filled(batch * channels * inner, T::zero())?;
    let steps = 4 * sample.neighbors.taps * locations + inner;
    let items = Items(&mut out, inner);
    parallel_for(batch * channels, steps, items, &|planes, mut out| {
        let (first, mut start) = (planes.start, planes.start);
        while start < planes.end {
            let n = start / channels;
            let end = planes.end.min((n + 1) * channels);
            sample.for_each_block(sample.image(n), |n, block, indices| {
                for plane in start..end {
                    run_at_best_level(Add {
                        grad: &grad[plane * locations..][block.clone()],
                        taps: sample.taps(n, block.start, weights, indices),
                        out: out.at(plane - first),
                    });
                }
            });
            start = end;
        }
        Ok(())
    })?;
    Ok(out)
}

/// Computes a block of locations of an image: their part of each row.
type ComputeBlock<'a, T> =
    dyn Fn(usize, Range<usize>, &[[u32; BLOCK]], &mut [&mut [T]]) + Sync + 'a;

impl<T: Float> Sample<'_, T> {
    /// `[batch, rows, locations]` elements, of zeros to which `compute` adds.
    fn rows_of_locations(
        &self,
        rows: usize,
        compute: &ComputeBlock<'_, T>,
    ) -> Result<AlignedVec<T>> {
        let (batch, channels, locations) = self.sizes();
        let mut out = filled(batch * rows * locations, T::zero())?;
        let steps = 2 * self.neighbors.taps * (channels + STEPS);
        let image = rows * locations;
        if image == 0 {
            return Ok(out);
        }
        if batch == 1 {
            let rows = SplitRows {
                rows: out.chunks_exact_mut(locations).collect(),
                items: 1,
                between_rows: false,
            };
            parallel_for(locations, steps, rows, &|range, rows| {
                self.compute_rows(range, rows.rows, compute);
                Ok(())
            })?;
            return Ok(out);
        }
        let items = Items(&mut out, image);
        parallel_for(batch, steps * locations, items, &|range, mut out| {
            for (item, n) in range.enumerate() {
                let rows = out.at(item).chunks_exact_mut(locations).collect();
                self.compute_rows(self.image(n), rows, compute);
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// Computes these locations, of one image.
    fn compute_rows(
        &self,
        range: Range<usize>,
        mut rows: Vec<&mut [T]>,
        compute: &ComputeBlock<'_, T>,
    ) {
        self.for_each_block(range, |n, block, indices| {
            let parts = rows.iter_mut().map(|row| next(row, block.len()));
            let mut parts: Vec<_> = parts.collect();
            compute(n, block, indices, &mut parts);
        });
    }
}

/// Adds the gradient of each location to its neighbors, by their weights.
struct Add<'a, T> {
    grad: &'a [T],
    taps: Taps<'a, T>,
    out: &'a mut [T],
}

impl<T: Float> Loop for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { grad, taps, out } = self;
        let mut products = [T::zero(); BLOCK];
        for (tap, indices) in taps.indices.iter().enumerate() {
            let weights = taps.weights(tap, grad.len());
            for (product, &grad, &weight) in zip_mut2(&mut products, grad, weights) {
                *product = weight.times(grad);
            }
            for (&product, &index) in zip(&products[..grad.len()], indices) {
                if let Some(sum) = out.get_mut(index as usize) {
                    *sum = sum.plus(product);
                }
            }
        }
    }
}

/// Reads a pixel for each index: any, if it is outside of the image, since a branch may be mispredicted often.
///
/// This is no [`Loop`]: the instructions of AVX-512 that gather take longer than loads of single numbers.
fn read<T: Float>(x: &[T], indices: &[u32], values: &mut [T; BLOCK]) {
    let Some(last) = x.len().checked_sub(1) else {
        return;
    };
    for (value, &index) in zip_mut(values, indices) {
        *value = x[last.min(index as usize)];
    }
}

/// Adds products to sums, except for pixels outside of the image.
struct AddProducts<'a, T> {
    sums: &'a mut [T],
    factors: &'a [T],
    values: &'a [T; BLOCK],
    indices: &'a [u32; BLOCK],
}

impl<T: Float> Loop for AddProducts<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            sums,
            factors,
            values,
            indices,
        } = self;
        for (sum, &factor, &value, &index) in zip_mut3(sums, factors, values, indices) {
            let product = factor.times(value);
            // A product of any pixel may be NaN.
            *sum = sum.plus(match index == NOWHERE {
                true => T::zero(),
                false => product,
            });
        }
    }
}
