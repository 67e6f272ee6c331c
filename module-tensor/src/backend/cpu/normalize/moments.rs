//! The mean and the variance of numbers.

use super::super::float::Float;
use super::super::lanes::{BLOCK, deviations, number, sum_of};
use super::super::simd::{Loop, run_at_best_level};
use super::columns::not_negative;

/// The number of elements that give the first estimate of the mean.
const FEW: usize = 32;

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
        for block in x.chunks(BLOCK) {
            self.join(run_at_best_level(OfBlock { block, centered }));
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

/// The moments of at most [`BLOCK`] numbers.
///
/// Squares of the distances from a number near the mean are right however far the numbers lie from zero. The mean of the first
/// few mostly is near; a block of which it is not is read once more.
pub(super) struct OfBlock<'a, T> {
    pub(super) block: &'a [T],
    pub(super) centered: bool,
}

impl<T: Float> Loop for OfBlock<'_, T> {
    type Output = Moments;

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) -> Moments {
        let Self { block, centered } = self;
        let count = block.len() as f64;
        if !centered {
            return Moments {
                count,
                mean: 0.0,
                squares: sum_of(block, |v| v.times(v)).to_f64(),
            };
        }
        let few = &block[..block.len().min(FEW)];
        let sum = few.iter().fold(T::zero(), |sum, &v| sum.plus(v));
        let mut shift = number::<T>(sum.to_f64() / few.len() as f64);
        let (mut offset, mut squares) = deviations(block, shift);
        if offset * offset / count > squares / 2.0 {
            shift = number(shift.to_f64() + offset / count);
            (offset, squares) = deviations(block, shift);
        }
        Moments {
            count,
            mean: shift.to_f64() + offset / count,
            squares: squares - offset * offset / count,
        }
    }
}

/// What distances from the mean are multiplied by: `1 / √(var + eps)`.
pub(super) fn scale(var: f64, eps: f64) -> f64 {
    (var + eps).sqrt().recip()
}
