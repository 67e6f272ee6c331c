//! Sampling of images whose channels lie side by side.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::super::aligned_vec::AlignedVec;
use super::super::float::Float;
use super::super::fold_lines::fold_lanes;
use super::super::joined_runs::next;
use super::super::memory::{filled, scratch};
use super::super::simd::{Loop, run_at_best_level};
use super::super::threads::{Items, parallel_for};
use super::super::view::{into_vec, to_row_major};
use super::super::{CpuStorage, Element, Operand, SampleOp};
use super::blocks::{STEPS, Sample, Taps};
use super::neighbors::{BLOCK, NOWHERE};
use crate::Result;
use crate::layout::{Layout, Shape};
use crate::zip::{zip, zip_mut};

/// The number of channels that are computed together.
pub(super) const LANES: usize = 16;

/// The operation for a multiple of [`LANES`] channels.
pub(super) fn compute<T: Float>(
    sample: &Sample<'_, T>,
    op: SampleOp,
    a: &Operand,
    b: &Operand,
) -> Result<AlignedVec<T>> {
    let a = swap_last(a);
    let a = to_row_major::<T>(&a)?;
    let (a, _) = a.as_chunks();
    match op {
        SampleOp::Forward => forward(sample, a, &to_row_major(b)?),
        SampleOp::Input => input(sample, a, &to_row_major(b)?),
        SampleOp::Weight => weight(sample, a, to_row_major(&swap_last(b))?.as_chunks().0),
    }
}

/// The operand with its last two dimensions swapped: images by pixels instead of channels, or the other way round.
fn swap_last(x: &Operand) -> Operand {
    let rank = x.layout.rank();
    Operand {
        storage: x.storage.clone(),
        layout: x.layout.transpose(rank - 2, rank - 1),
    }
}

/// Elements of this shape with their last two dimensions swapped.
fn swapped<T: Element>(values: AlignedVec<T>, shape: impl Into<Shape>) -> Result<AlignedVec<T>> {
    let x = Operand {
        storage: CpuStorage::wrap(values),
        layout: Layout::contiguous(shape.into()),
    };
    into_vec(swap_last(&x))
}

fn forward<T: Float>(
    sample: &Sample<'_, T>,
    x: &[[T; LANES]],
    weights: &[T],
) -> Result<AlignedVec<T>> {
    let (batch, channels, locations) = sample.sizes();
    let groups = channels / LANES;
    let inner = sample.geometry.inner();
    let mut out = scratch(batch * locations * channels)?;
    let steps = sample.neighbors.taps * (channels + STEPS);
    let items = Items(&mut out, channels);
    parallel_for(batch * locations, steps, items, &|range, out| {
        let mut rest = out.0;
        sample.for_each_block(range, |n, block, indices| {
            run_at_best_level(Read {
                x: &x[n * inner * groups..][..inner * groups],
                groups,
                taps: sample.taps(n, block.start, weights, indices),
                out: next(&mut rest, block.len() * channels).as_chunks_mut().0,
            });
        });
        Ok(())
    })?;
    swapped(out, [batch, locations, channels])
}

/// Threads add to channels of their own.
fn input<T: Float>(
    sample: &Sample<'_, T>,
    grad: &[[T; LANES]],
    weights: &[T],
) -> Result<AlignedVec<T>> {
    let (batch, channels, locations) = sample.sizes();
    let groups = channels / LANES;
    let inner = sample.geometry.inner();
    let mut out = filled(batch * channels * inner, T::zero())?;
    let steps = sample.neighbors.taps * locations * (LANES + STEPS) + inner * LANES;
    let items = Items(&mut out, inner * LANES);
    parallel_for(batch * groups, steps, items, &|range, mut out| {
        for (item, group) in range.enumerate() {
            let image = sample.image(group / groups);
            sample.for_each_block(image, |n, block, indices| {
                let start = n * locations + block.start;
                run_at_best_level(Add {
                    grad: &grad[start * groups..][..block.len() * groups],
                    group: group % groups,
                    groups,
                    taps: sample.taps(n, block.start, weights, indices),
                    out: out.at(item).as_chunks_mut().0,
                });
            });
        }
        Ok(())
    })?;
    swapped(out, [batch, groups, inner, LANES])
}

fn weight<T: Float>(
    sample: &Sample<'_, T>,
    x: &[[T; LANES]],
    grad: &[[T; LANES]],
) -> Result<AlignedVec<T>> {
    let (batch, channels, locations) = sample.sizes();
    let groups = channels / LANES;
    let (inner, taps) = (sample.geometry.inner(), sample.neighbors.taps);
    let mut out = filled(batch * locations * taps, T::zero())?;
    let steps = taps * (channels + STEPS);
    let items = Items(&mut out, taps);
    parallel_for(batch * locations, steps, items, &|range, out| {
        let mut rest = out.0;
        sample.for_each_block(range, |n, block, indices| {
            let start = n * locations + block.start;
            run_at_best_level(Multiply {
                x: &x[n * inner * groups..][..inner * groups],
                grad: &grad[start * groups..][..block.len() * groups],
                groups,
                indices,
                out: next(&mut rest, block.len() * taps),
            });
        });
        Ok(())
    })?;
    swapped(out, [batch, locations, taps])
}

/// Adds up the neighbors of each location with their weights.
struct Read<'a, T> {
    x: &'a [[T; LANES]],
    /// The number of vectors of a pixel.
    groups: usize,
    taps: Taps<'a, T>,
    out: &'a mut [[T; LANES]],
}

impl<T: Float> Loop for Read<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            x, groups, taps, ..
        } = self;
        for (i, out) in self.out.chunks_exact_mut(groups).enumerate() {
            for (group, out) in out.iter_mut().enumerate() {
                let mut sums = [T::zero(); LANES];
                for tap in 0..taps.indices.len() {
                    if let Some((index, weight)) = taps.get(i, tap) {
                        add_scaled(&mut sums, &x[index * groups + group], weight);
                    }
                }
                *out = sums;
            }
        }
    }
}

/// Adds the gradient of each location to its neighbors, by their weights.
struct Add<'a, T> {
    grad: &'a [[T; LANES]],
    /// Which of the vectors of a pixel this is.
    group: usize,
    groups: usize,
    taps: Taps<'a, T>,
    out: &'a mut [[T; LANES]],
}

impl<T: Float> Loop for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { taps, out, .. } = self;
        for (i, grad) in self.grad.chunks_exact(self.groups).enumerate() {
            for tap in 0..taps.indices.len() {
                if let Some((index, weight)) = taps.get(i, tap) {
                    add_scaled(&mut out[index], &grad[self.group], weight);
                }
            }
        }
    }
}

/// Multiplies the gradient of each location with each of its neighbors.
struct Multiply<'a, T> {
    x: &'a [[T; LANES]],
    grad: &'a [[T; LANES]],
    groups: usize,
    indices: &'a [[u32; BLOCK]],
    out: &'a mut [T],
}

impl<T: Float> Loop for Multiply<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            x, groups, indices, ..
        } = self;
        let rows = self.out.chunks_exact_mut(indices.len());
        for (i, (out, grad)) in rows.zip(self.grad.chunks_exact(groups)).enumerate() {
            for (out, indices) in zip_mut(out, indices) {
                if indices[i] != NOWHERE {
                    *out = dot(grad, &x[indices[i] as usize * groups..][..groups]);
                }
            }
        }
    }
}

/// `sums + values · factor`.
#[inline(always)]
fn add_scaled<T: Float>(sums: &mut [T; LANES], values: &[T; LANES], factor: T) {
    for i in 0..LANES {
        sums[i] = sums[i].plus(factor.times(values[i]));
    }
}

/// The sum of the products.
#[inline(always)]
fn dot<T: Float>(a: &[[T; LANES]], b: &[[T; LANES]]) -> T {
    let mut sums = [T::zero(); LANES];
    for (a, b) in zip(a, b) {
        for i in 0..LANES {
            sums[i] = sums[i].plus(a[i].times(b[i]));
        }
    }
    fold_lanes(sums, T::plus)
}
