//! Loops over the locations of one channel.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::super::float::Float;
use super::super::simd::{Loop, run_at_best_level};
use super::blocks::Block;
use super::neighbors::{BLOCK, NOWHERE};
use super::rows::{Add, Multiply, Row};
use crate::zip::{zip, zip_mut};

/// Adds up the neighbors of each location with their weights.
pub(super) fn read_plane<T: Float>(x: &[T], block: &Block<T>, out: &mut [T]) {
    let (mut sums, mut products) = ([T::zero(); BLOCK], [T::zero(); BLOCK]);
    for (indices, weights) in zip(&block.indices, &block.weights.all) {
        multiply(x, indices, weights, &mut products);
        run_at_best_level(Add(&products, &mut sums));
    }
    out.copy_from_slice(&sums[..out.len()]);
}

/// Multiplies the gradient of each location with each of its neighbors, which gives the gradients of their weights.
pub(super) fn dot_plane<T: Float>(x: &[T], grad: &[T], block: &Block<T>, out: &mut [Row<T>]) {
    let mut factors = [T::zero(); BLOCK];
    factors[..grad.len()].copy_from_slice(grad);
    for (products, indices) in zip_mut(out, &block.indices) {
        multiply(x, indices, &factors, products);
    }
}

/// Adds the gradient of each location to its neighbors, by their weights.
pub(super) fn add_plane<T: Float>(grad: &[T], block: &Block<T>, out: &mut [T]) {
    let mut factors = [T::zero(); BLOCK];
    factors[..grad.len()].copy_from_slice(grad);
    for (indices, weights) in zip(&block.indices, &block.weights.all) {
        let mut products = *weights;
        run_at_best_level(Multiply(&factors, &mut products));
        for (&product, &index) in zip(&products[..grad.len()], indices) {
            if let Some(sum) = out.get_mut(index as usize) {
                *sum = sum.plus(product);
            }
        }
    }
}

/// Multiplies pixels with factors; outside of the image the products are 0.
fn multiply<T: Float>(x: &[T], indices: &[u32; BLOCK], factors: &Row<T>, products: &mut Row<T>) {
    let mut pixels = [T::zero(); BLOCK];
    read(x, indices, &mut pixels);
    run_at_best_level(MultiplyInside {
        indices,
        pixels: &pixels,
        factors,
        products,
    });
}

/// Reads a pixel for each index: any, if it is outside of the image, since a branch may be mispredicted often.
///
/// This is no [`Loop`]: the instructions of AVX-512 that gather take longer than loads of single numbers.
fn read<T: Float>(x: &[T], indices: &[u32; BLOCK], pixels: &mut Row<T>) {
    let Some(last) = x.len().checked_sub(1) else {
        return;
    };
    for i in 0..BLOCK {
        pixels[i] = x[last.min(indices[i] as usize)];
    }
}

/// Multiplies numbers, except for those of pixels outside of the image: a product of any pixel may be NaN.
struct MultiplyInside<'a, T> {
    indices: &'a [u32; BLOCK],
    pixels: &'a Row<T>,
    factors: &'a Row<T>,
    products: &'a mut Row<T>,
}

impl<T: Float> Loop for MultiplyInside<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for i in 0..BLOCK {
            let product = self.factors[i].times(self.pixels[i]);
            self.products[i] = match self.indices[i] {
                NOWHERE => T::zero(),
                _ => product,
            };
        }
    }
}
