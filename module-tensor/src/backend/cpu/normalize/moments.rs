//! The mean and the variance of numbers.

use super::super::float::Float;
use super::super::lanes::{BLOCK, deviations, number, sum_of};
use super::super::simd::{Loop, run_at_best_level};
use super::columns::not_negative;
use crate::zip::zip_mut;

/// The number of elements that give the first estimate of the mean.
const FEW: usize = 32;

/// The number of rows whose elements are added up together: what is added one after the other in one does not wait for the
/// others.
pub(super) const SIDE_BY_SIDE: usize = 4;

/// The mean and the squared distances from it of the numbers seen so far.
#[derive(Clone, Copy, Default)]
pub(super) struct Moments {
    count: f64,
    pub(super) mean: f64,
    squares: f64,
}

impl Moments {
    pub(super) fn of<T: Float>(x: &[T], centered: bool) -> Self {
        let mut moments = Self::default();
        moments.add(x, centered);
        moments
    }

    pub(super) fn add<T: Float>(&mut self, x: &[T], centered: bool) {
        let (blocks, rest) = x.as_chunks::<BLOCK>();
        self.add_blocks(blocks.iter().map(<[T; BLOCK]>::as_slice), centered);
        if !rest.is_empty() {
            self.add_blocks(std::iter::once(rest), centered);
        }
    }

    /// Adds blocks of at most [`BLOCK`] numbers, all of the same length.
    pub(super) fn add_blocks<'a, T: Float>(
        &mut self,
        mut blocks: impl Iterator<Item = &'a [T]>,
        centered: bool,
    ) {
        loop {
            let (mut several, mut count) = ([&[][..]; SIDE_BY_SIDE], 0);
            for (slot, block) in several.iter_mut().zip(&mut blocks) {
                *slot = block;
                count += 1;
            }
            if count < SIDE_BY_SIDE {
                for &block in &several[..count] {
                    let blocks = [block];
                    let [moments] = run_at_best_level(OfBlocks { blocks, centered });
                    self.join(moments);
                }
                return;
            }
            let blocks = several;
            for moments in run_at_best_level(OfBlocks { blocks, centered }) {
                self.join(moments);
            }
        }
    }

    fn join(&mut self, other: Self) {
        let total = self.count + other.count;
        let distance = other.mean - self.mean;
        self.mean += distance * other.count / total;
        self.squares += other.squares + distance * distance * self.count * other.count / total;
        self.count = total;
    }

    pub(super) fn var(&self) -> f64 {
        not_negative(self.squares / self.count)
    }
}

/// The moments of each of several blocks of at most [`BLOCK`] numbers, all of the same length.
///
/// Squares of the distances from a number near the mean are right however far the numbers lie from zero. The mean of the first
/// few mostly is near; a block of which it is not is read once more.
pub(super) struct OfBlocks<'a, T, const N: usize> {
    pub(super) blocks: [&'a [T]; N],
    pub(super) centered: bool,
}

impl<T: Float, const N: usize> Loop for OfBlocks<'_, T, N> {
    type Output = [Moments; N];

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) -> [Moments; N] {
        let Self { blocks, centered } = self;
        let count = blocks[0].len() as f64;
        let mut moments = [Moments::default(); N];
        if !centered {
            for (moments, block) in zip_mut(&mut moments, &blocks) {
                let squares = sum_of(block, |v| v.times(v)).to_f64();
                *moments = Moments {
                    count,
                    mean: 0.0,
                    squares,
                };
            }
            return moments;
        }
        let shifts = first_estimates(blocks);
        let distances = deviations(blocks, shifts);
        for n in 0..N {
            let (mut shift, [mut offset, mut squares]) = (shifts[n], distances[n]);
            if offset * offset / count > squares / 2.0 {
                shift = number(shift.to_f64() + offset / count);
                [[offset, squares]] = deviations([blocks[n]], [shift]);
            }
            moments[n] = Moments {
                count,
                mean: shift.to_f64() + offset / count,
                squares: squares - offset * offset / count,
            };
        }
        moments
    }
}

/// The mean of the first few numbers of each block.
#[inline(always)]
#[allow(clippy::inline_always)]
fn first_estimates<T: Float, const N: usize>(blocks: [&[T]; N]) -> [T; N] {
    let few = blocks[0].len().min(FEW);
    let blocks = blocks.map(|block| &block[..few]);
    let mut sums = [T::zero(); N];
    for i in 0..few {
        for (sum, block) in zip_mut(&mut sums, &blocks) {
            *sum = sum.plus(block[i]);
        }
    }
    sums.map(|sum| number(sum.to_f64() / few as f64))
}

/// What distances from the mean are multiplied by: `1 / √(var + eps)`.
pub(super) fn scale(var: f64, eps: f64) -> f64 {
    (var + eps).sqrt().recip()
}
