//! Loops over the channels of pixels, which lie side by side.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::super::float::Float;
use super::super::fold_lines::fold_lanes;
use super::super::simd::Loop;
use super::blocks::Block;
use super::neighbors::BLOCK;
use super::rows::Row;
use crate::zip::{zip, zip_mut};

/// Adds up the neighbors of each location with their weights.
pub(super) struct Read<'a, T, const LANES: usize> {
    pub(super) x: &'a [[T; LANES]],
    /// The number of vectors of a pixel.
    pub(super) groups: usize,
    pub(super) block: &'a Block<T>,
    pub(super) out: &'a mut [[T; LANES]],
}

impl<T: Float, const LANES: usize> Loop for Read<'_, T, LANES> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            x, groups, block, ..
        } = self;
        let locations = self.out.chunks_exact_mut(groups);
        for (i, out) in (0..BLOCK).zip(locations) {
            for (group, out) in out.iter_mut().enumerate() {
                let mut sums = [T::zero(); LANES];
                for (indices, weights) in zip(&block.indices, &block.weights.all) {
                    if let Some(pixel) = pixel(x, indices[i], groups) {
                        add_scaled(&mut sums, &pixel[group], weights[i]);
                    }
                }
                *out = sums;
            }
        }
    }
}

/// Adds the gradient of each location to its neighbors, by their weights.
pub(super) struct Add<'a, T, const LANES: usize> {
    pub(super) grad: &'a [[T; LANES]],
    pub(super) block: &'a Block<T>,
    pub(super) out: &'a mut [[T; LANES]],
}

impl<T: Float, const LANES: usize> Loop for Add<'_, T, LANES> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { grad, block, out } = self;
        for (i, grad) in (0..BLOCK).zip(grad) {
            for (indices, weights) in zip(&block.indices, &block.weights.all) {
                if let Some(sums) = out.get_mut(indices[i] as usize) {
                    add_scaled(sums, grad, weights[i]);
                }
            }
        }
    }
}

/// Multiplies the gradient of each location with each of its neighbors, which gives the gradients of their weights.
pub(super) struct Dot<'a, T, const LANES: usize> {
    pub(super) x: &'a [[T; LANES]],
    pub(super) grad: &'a [[T; LANES]],
    pub(super) groups: usize,
    pub(super) block: &'a Block<T>,
    pub(super) out: &'a mut [Row<T>],
}

impl<T: Float, const LANES: usize> Loop for Dot<'_, T, LANES> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            x,
            groups,
            block,
            out,
            ..
        } = self;
        for (i, grad) in (0..BLOCK).zip(self.grad.chunks_exact(groups)) {
            for (out, indices) in zip_mut(out, &block.indices) {
                out[i] = match pixel(x, indices[i], groups) {
                    Some(pixel) => dot(grad, pixel),
                    None => T::zero(),
                };
            }
        }
    }
}

/// The vectors of a pixel, unless it is outside of the image. Nothing is read there, even with weight 0: an element read
/// instead could be NaN.
#[inline(always)]
fn pixel<T, const LANES: usize>(
    x: &[[T; LANES]],
    index: u32,
    groups: usize,
) -> Option<&[[T; LANES]]> {
    // In 64 bits, in which `NOWHERE` leads outside of any image.
    let start = u64::from(index) * groups as u64;
    x.get(usize::try_from(start).ok()?..)?.get(..groups)
}

/// `sums + values · factor`.
#[inline(always)]
fn add_scaled<T: Float, const LANES: usize>(sums: &mut [T; LANES], values: &[T; LANES], factor: T) {
    for i in 0..LANES {
        sums[i] = sums[i].plus(factor.times(values[i]));
    }
}

/// The sum of the products.
#[inline(always)]
fn dot<T: Float, const LANES: usize>(a: &[[T; LANES]], b: &[[T; LANES]]) -> T {
    let mut sums = [T::zero(); LANES];
    for (a, b) in zip(a, b) {
        for i in 0..LANES {
            sums[i] = sums[i].plus(a[i].times(b[i]));
        }
    }
    fold_lanes(sums, T::plus)
}
