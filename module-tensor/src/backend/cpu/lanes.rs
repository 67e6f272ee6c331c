//! Loops over slices that the compiler turns into vector instructions: sums in parallel lanes,
//! functions of whole slices.

use super::float::Float;
use super::fold_lines::FoldLinesOf;
use super::narrow::Narrow;
use super::number::Number;
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use crate::zip::{zip, zip_mut, zip_mut2};

pub(super) use super::fold_lines::LANES;

/// The number of sums where the vectors may be as wide as the processor allows.
pub(super) const WIDE_LANES: usize = 64;

/// The number of elements that are added up before their sum is added to the rest, so that the rounding
/// errors of long sums grow with far fewer steps.
pub(super) const BLOCK: usize = 1024;

/// As [`BLOCK`], for sums in [`WIDE_LANES`], whose lanes take some time to add up.
pub(super) const LANES_BLOCK: usize = WIDE_LANES * 64;

/// `Σ xᵢ`
pub(super) fn sum<T: Number>(x: &[T]) -> T {
    if x.len() < WIDE_LANES {
        let mut sum = [T::zero()];
        sum_lines(x, x.len(), &mut sum);
        return sum[0];
    }
    sum_by_blocks(x, |block| run_at_best_level(Sum(block)))
}

/// [`sum`] of each of several lines of `count` numbers.
pub(super) fn sum_lines<T: Number>(values: &[T], count: usize, out: &mut [T]) {
    each_line(values, count, out, |v| v, sum);
}

/// [`sum_of_squares`] of each of several lines of `count` numbers.
pub(super) fn sum_squares_of_lines<T: Number>(values: &[T], count: usize, out: &mut [T]) {
    each_line(values, count, out, |v| v.times(v), sum_of_squares);
}

/// `sum` of each of several lines of `count` numbers, which is the sum of `f` of the numbers.
fn each_line<T: Number>(
    values: &[T],
    count: usize,
    out: &mut [T],
    f: impl Fn(T) -> T,
    sum: impl Fn(&[T]) -> T,
) {
    if count < WIDE_LANES {
        return run_at_best_level(FoldLinesOf {
            values,
            count,
            f,
            neutral: T::zero(),
            combine: T::plus,
            out,
        });
    }
    for (out, line) in out.iter_mut().zip(values.chunks_exact(count)) {
        *out = sum(line);
    }
}

/// [`sum`] of at most [`MOST_IN_ORDER`] numbers, which are widened block by block; `buffer` has room for
/// [`LANES_BLOCK`], or for all of them.
pub(super) fn sum_narrow<T: Narrow<Wide: Number>>(x: &[T], buffer: &mut [T::Wide]) -> T::Wide {
    if x.len() < WIDE_LANES {
        T::widen(x, buffer);
        return sum(&buffer[..x.len()]);
    }
    sum_of_blocks(x, |block| {
        T::widen(block, buffer);
        run_at_best_level(Sum(&buffer[..block.len()]))
    })
}

/// `Σ xᵢ²`
pub(super) fn sum_of_squares<T: Number>(x: &[T]) -> T {
    if x.len() < WIDE_LANES {
        let mut sum = [T::zero()];
        sum_squares_of_lines(x, x.len(), &mut sum);
        return sum[0];
    }
    sum_by_blocks(x, |block| {
        run_at_best_level(SumOf(block, |v: T| v.times(v)))
    })
}

/// Whether no element is infinite or NaN.
pub(super) fn are_finite<T: Number>(x: &[T]) -> bool {
    let zeros = sum_by_blocks(x, |block| {
        run_at_best_level(SumOf(block, |v: T| v.times(T::zero())))
    });
    zeros == T::zero()
}

/// The sum of what is computed of each block.
fn sum_by_blocks<T: Number>(x: &[T], block: impl Fn(&[T]) -> T + Copy + Sync) -> T {
    if x.len() <= MOST_IN_ORDER {
        return sum_of_blocks(x, block);
    }
    // Each stretch is added up by one thread, so that their number does not change the order.
    let mut partial = vec![T::zero(); x.len().div_ceil(LONG)];
    let count = partial.len();
    let done = parallel_for(count, LONG / 4, Items(&mut partial, 1), &|range, sums| {
        let stretches = x[range.start * LONG..].chunks(LONG);
        for (sum, x) in sums.0.iter_mut().zip(stretches) {
            *sum = sum_of_blocks(x, block);
        }
        Ok(())
    });
    // The work above does not fail.
    debug_assert!(done.is_ok());
    partial.into_iter().fold(T::zero(), T::plus)
}

/// The minimum number of elements that one thread adds up.
pub(super) const LONG: usize = 1 << 16;

/// The maximum number of elements that are added up as one stretch.
pub(super) const MOST_IN_ORDER: usize = 2 * LONG - 1;

fn sum_of_blocks<T, U: Number>(x: &[T], mut block: impl FnMut(&[T]) -> U) -> U {
    let blocks = x.chunks(LANES_BLOCK);
    blocks.fold(U::zero(), |sum, x| sum.plus(block(x)))
}

/// [`sum`] of at most [`LANES_BLOCK`] elements, to be run in a loop.
pub(super) struct Sum<'a, T>(pub(super) &'a [T]);

impl<T: Number> Loop for Sum<'_, T> {
    type Output = T;

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) -> T {
        SumOf(self.0, |v| v).run()
    }
}

/// The sum of what a function gives of each of at most [`LANES_BLOCK`] elements.
struct SumOf<'a, T, F>(&'a [T], F);

impl<T: Number, F: Fn(T) -> T> Loop for SumOf<'_, T, F> {
    type Output = T;

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) -> T {
        let Self(x, f) = self;
        let mut partial = [T::zero(); WIDE_LANES];
        let (chunks, rest) = x.as_chunks::<WIDE_LANES>();
        for chunk in chunks {
            for (sum, &v) in zip_mut(&mut partial, chunk) {
                *sum = sum.plus(f(v));
            }
        }
        let rest = rest.iter().fold(T::zero(), |sum, &v| sum.plus(f(v)));
        rest.plus(sum_of_lanes(partial))
    }
}

/// The sum of partial sums, eight side by side.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn sum_of_lanes<T: Number>(partial: [T; WIDE_LANES]) -> T {
    let mut sums = [T::zero(); 8];
    for eight in partial.as_chunks::<8>().0 {
        for (sum, &v) in zip_mut(&mut sums, eight) {
            *sum = sum.plus(v);
        }
    }
    sum_of_eight(sums)
}

/// The last step of [`sum_of_lanes`].
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn sum_of_eight<T: Number>(sums: [T; 8]) -> T {
    sums.into_iter().fold(T::zero(), T::plus)
}

// Without closures over blocks, which the compiler may leave as functions without vector instructions.

/// `Σ f(xᵢ)`
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn sum_of<T: Float>(x: &[T], f: impl Fn(T) -> T + Copy) -> T {
    let mut sum = T::zero();
    for x in x.chunks(BLOCK) {
        let mut partial = [T::zero(); LANES];
        let (chunks, rest) = x.as_chunks::<LANES>();
        for chunk in chunks {
            for i in 0..LANES {
                partial[i] = partial[i].plus(f(chunk[i]));
            }
        }
        let mut of_block = T::zero();
        for &v in rest {
            of_block = of_block.plus(f(v));
        }
        sum = sum.plus(partial.into_iter().fold(of_block, T::plus));
    }
    sum
}

/// `Σ f(aᵢ, bᵢ)`
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn sum_of2<T: Float>(a: &[T], b: &[T], f: impl Fn(T, T) -> T + Copy) -> T {
    let mut sum = T::zero();
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        let (rest, lanes) = lanes_of2(a, b, f);
        sum = sum.plus(lanes.into_iter().fold(rest, T::plus));
    }
    sum
}

/// [`sum_of2`] of at most [`BLOCK`] elements: the sum of those that fill no lanes, and the lanes.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn lanes_of2<T: Float>(
    a: &[T],
    b: &[T],
    f: impl Fn(T, T) -> T + Copy,
) -> (T, [T; LANES]) {
    let mut lanes = [T::zero(); LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in zip(a_chunks, b_chunks) {
        for i in 0..LANES {
            lanes[i] = lanes[i].plus(f(a[i], b[i]));
        }
    }
    let mut rest = T::zero();
    for (&a, &b) in zip(a_rest, b_rest) {
        rest = rest.plus(f(a, b));
    }
    (rest, lanes)
}

/// `Σ (xᵢ - shift)` and `Σ (xᵢ - shift)²` of each of several blocks of at most [`BLOCK`] elements, all of the same length.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn deviations<T: Float, const N: usize>(
    blocks: [&[T]; N],
    shifts: [T; N],
) -> [[f64; 2]; N] {
    let mut lanes = [[[T::zero(); LANES]; 2]; N];
    let mut sums = [[T::zero(); 2]; N];
    for n in 0..N {
        (sums[n], lanes[n]) = deviations_in_lanes(blocks[n], shifts[n]);
    }
    add_lanes(&mut sums, &lanes);
    sums.map(|sums| sums.map(T::to_f64))
}

/// Both sums of a block: what the lanes hold, and the elements that fill no lanes.
#[inline(always)]
#[allow(clippy::inline_always)]
fn deviations_in_lanes<T: Float>(block: &[T], shift: T) -> ([T; 2], [[T; LANES]; 2]) {
    let (mut sums, mut squares) = ([T::zero(); LANES], [T::zero(); LANES]);
    let (chunks, rest) = block.as_chunks::<LANES>();
    for chunk in chunks {
        for i in 0..LANES {
            let distance = chunk[i].minus(shift);
            sums[i] = sums[i].plus(distance);
            squares[i] = squares[i].plus(distance.times(distance));
        }
    }
    let (mut sum, mut square) = (T::zero(), T::zero());
    for &v in rest {
        let distance = v.minus(shift);
        sum = sum.plus(distance);
        square = square.plus(distance.times(distance));
    }
    ([sum, square], [sums, squares])
}

/// Adds lanes to sums, those of all pairs side by side.
///
/// Inlined, the compiler would make pairs of a lane of each, and no vectors of the lanes of one.
#[inline(never)]
pub(super) fn add_lanes<T: Number, const N: usize>(
    sums: &mut [[T; 2]; N],
    lanes: &[[[T; LANES]; 2]; N],
) {
    for i in 0..LANES {
        for (sums, lanes) in zip_mut(sums, lanes) {
            for (sum, lanes) in zip_mut(sums, lanes) {
                *sum = sum.plus(lanes[i]);
            }
        }
    }
}

/// `outᵢ = f(xᵢ)`
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn map<T: Float>(out: &mut [T], x: &[T], f: impl Fn(T) -> T) {
    for (out, &x) in zip_mut(out, x) {
        *out = f(x);
    }
}

/// `outᵢ = f(aᵢ, bᵢ)`
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn map2<T: Float>(out: &mut [T], a: &[T], b: &[T], f: impl Fn(T, T) -> T) {
    for (out, &a, &b) in zip_mut2(out, a, b) {
        *out = f(a, b);
    }
}

/// `aᵢ = f(aᵢ, bᵢ)`
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn update<T: Number>(a: &mut [T], b: &[T], f: impl Fn(T, T) -> T) {
    for (a, &b) in zip_mut(a, b) {
        *a = f(*a, b);
    }
}

/// `xᵢ = eˣⁱ` of numbers that are at most 0 but for rounding, as differences to the greatest.
pub(super) fn exp<T: Float>(x: &mut [T]) {
    run_at_best_level(Exp(x));
}

struct Exp<'a, T>(&'a mut [T]);

impl<T: Float> Loop for Exp<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for v in self.0 {
            *v = v.exp_of_negative();
        }
    }
}

/// A double as the sum of two numbers of another type, so that what is subtracted in two steps
/// loses no digits: the mean of numbers far from zero.
pub(super) fn split<T: Float>(value: f64) -> (T, T) {
    let high = number::<T>(value);
    // An infinity has no rest.
    let rest = value - high.to_f64();
    (high, number(if rest.is_finite() { rest } else { 0.0 }))
}

/// A double rounded to the type.
pub(super) fn number<T: Float>(value: f64) -> T {
    T::from_scalar(value.into())
}
