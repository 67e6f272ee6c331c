//! Loops over a number for each location of a block.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::super::float::Float;
use super::super::simd::Loop;
use super::neighbors::BLOCK;

/// A number for each location of a block.
pub(super) type Row<T> = [T; BLOCK];

/// Multiplies numbers by factors.
pub(super) struct Multiply<'a, T>(pub(super) &'a Row<T>, pub(super) &'a mut Row<T>);

impl<T: Float> Loop for Multiply<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(factors, numbers) = self;
        for i in 0..BLOCK {
            numbers[i] = numbers[i].times(factors[i]);
        }
    }
}

/// Adds numbers to sums.
pub(super) struct Add<'a, T>(pub(super) &'a Row<T>, pub(super) &'a mut Row<T>);

impl<T: Float> Loop for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(numbers, sums) = self;
        for i in 0..BLOCK {
            sums[i] = sums[i].plus(numbers[i]);
        }
    }
}
