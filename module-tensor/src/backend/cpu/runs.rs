//! Loops over the elements of operands, in row-major order, wherever they lie.

use std::ops::Range;

use super::aligned_vec::AlignedVec;
use super::joined_runs::{BLOCK, Group, next};
use super::memory::scratch;
use super::number::Number;
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use super::view::{is_read_whole, or_copy, slice};
use super::{Element, Operand, elements};
use crate::Result;
use crate::layout::{Layout, Runs};
use crate::zip::{zip_mut, zip_mut2};

/// `f` of each element, in row-major order.
pub(super) fn map1<T: Element, U: Element>(
    x: &Operand,
    f: impl Fn(T) -> U + Copy + Sync,
) -> Result<AlignedVec<U>> {
    runs1(x, 1, &|x, out| {
        // A copy of what the function has captured cannot be changed by a write to `out`.
        let own = f;
        for (out, &v) in zip_mut(out, x) {
            *out = own(v);
        }
    })
}

/// A function of whole slices of one length, which the elements in row-major order are cut into.
pub(super) fn map_slices<T: Element, U: Element>(
    x: &Operand,
    f: OfRun<'_, T, U>,
) -> Result<AlignedVec<U>> {
    runs1(x, 1, f)
}

/// The same of two operands, whose layouts have one shape.
pub(super) fn map_pairs_of_slices<A: Element, B: Element, U: Element>(
    a: &Operand,
    b: &Operand,
    f: OfRuns<'_, A, B, U>,
) -> Result<AlignedVec<U>> {
    runs2(a, b, f)
}

/// [`map1`] with all the vector instructions that the processor has, for functions of many steps.
pub(super) fn map1_wide<T: Element, U: Element>(
    x: &Operand,
    f: impl Fn(T) -> U + Copy + Sync,
) -> Result<AlignedVec<U>> {
    runs1(x, 2, &|x, out| run_at_best_level(Each { x, out, f }))
}

/// A function too large for the compiler to inline as a closure; a call for each element costs a hundred
/// times more.
pub(super) trait Steps<T, U = T>: Copy + Sync {
    /// To be marked `#[inline(always)]`.
    fn of(self, v: T) -> U;
}

/// [`map1_wide`] of such a function.
pub(super) fn map1_steps<T: Element>(x: &Operand, steps: impl Steps<T>) -> Result<AlignedVec<T>> {
    runs1(x, 2, &|x, out| run_at_best_level(EachOf { x, out, steps }))
}

/// How many numbers are looked through for large ones while they are in the cache.
const PIECE: usize = 1024;

/// [`map1_wide`] of a function of numbers whose magnitude is at most `most`; `beyond` is that of larger ones, which are
/// few.
pub(super) fn map1_within<T: Number>(
    x: &Operand,
    f: impl Fn(T) -> T + Copy + Sync,
    most: T,
    beyond: fn(T) -> T,
) -> Result<AlignedVec<T>> {
    runs1(x, 2, &|x, out| {
        for (x, out) in x.chunks(PIECE).zip(out.chunks_mut(PIECE)) {
            run_at_best_level(Each { x, out, f });
            if run_at_best_level(Exceed { x, most }) {
                for (out, &v) in zip_mut(out, x) {
                    if v.magnitude() > most {
                        *out = beyond(v);
                    }
                }
            }
        }
    })
}

/// Whether any number is of a magnitude above `most`.
struct Exceed<'a, T> {
    x: &'a [T],
    most: T,
}

impl<T: Number> Loop for Exceed<'_, T> {
    type Output = bool;

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) -> bool {
        let exceeds = |v: &T| v.magnitude() > self.most;
        self.x.iter().fold(false, |any, v| any | exceeds(v))
    }
}

struct EachOf<'a, T, S> {
    x: &'a [T],
    out: &'a mut [T],
    steps: S,
}

impl<T: Element, S: Steps<T>> Loop for EachOf<'_, T, S> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for (out, &v) in zip_mut(self.out, self.x) {
            *out = self.steps.of(v);
        }
    }
}

struct Each<'a, T, U, F> {
    x: &'a [T],
    out: &'a mut [U],
    f: F,
}

impl<T: Copy, U: Element, F: Fn(T) -> U> Loop for Each<'_, T, U, F> {
    type Output = ();

    // The function is inlined into a plain loop only: an iterator is several calls away from it.

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for (out, &v) in zip_mut(self.out, self.x) {
            *out = (self.f)(v);
        }
    }
}

/// `f` of each pair of elements, in row-major order; the layouts have one shape.
pub(super) fn map2<A: Element, B: Element, U: Element>(
    a: &Operand,
    b: &Operand,
    f: impl Fn(A, B) -> U + Copy + Sync,
) -> Result<AlignedVec<U>> {
    runs2(a, b, &|a, b, out| {
        // As in `map1`.
        let own = f;
        for (out, &a, &b) in zip_mut2(out, a, b) {
            *out = own(a, b);
        }
    })
}

/// [`map2`] with all the vector instructions that the processor has.
pub(super) fn map2_wide<A: Element, B: Element, U: Element>(
    a: &Operand,
    b: &Operand,
    f: impl Fn(A, B) -> U + Copy + Sync,
) -> Result<AlignedVec<U>> {
    runs2(a, b, &|a, b, out| {
        run_at_best_level(EachPair { a, b, out, f })
    })
}

struct EachPair<'a, A, B, U, F> {
    a: &'a [A],
    b: &'a [B],
    out: &'a mut [U],
    f: F,
}

impl<A: Copy, B: Copy, U: Element, F: Fn(A, B) -> U> Loop for EachPair<'_, A, B, U, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for (out, &a, &b) in zip_mut2(self.out, self.a, self.b) {
            *out = (self.f)(a, b);
        }
    }
}

/// [`map2_wide`] of a function that is too large to be inlined as a closure.
pub(super) fn map2_steps<T: Element>(
    a: &Operand,
    b: &Operand,
    steps: impl Steps<(T, T), T>,
) -> Result<AlignedVec<T>> {
    runs2(a, b, &|a, b, out| {
        run_at_best_level(EachPairOf { a, b, out, steps })
    })
}

struct EachPairOf<'a, T, S> {
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
    steps: S,
}

impl<T: Element, S: Steps<(T, T), T>> Loop for EachPairOf<'_, T, S> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for (out, &a, &b) in zip_mut2(self.out, self.a, self.b) {
            *out = self.steps.of((a, b));
        }
    }
}

/// Fewer elements are not shared among threads.
const FEW: usize = 256;

// The loops below are compiled once for each combination of types; what an operation does with a
// run is behind a pointer, because there are many operations and a run is long.

/// What an operation makes of a run, and of two.
type OfRun<'f, T, U> = &'f (dyn Fn(&[T], &mut [U]) + Sync);
type OfRuns<'f, A, B, U> = &'f (dyn Fn(&[A], &[B], &mut [U]) + Sync);

fn runs1<T: Element, U: Element>(
    x: &Operand,
    steps: usize,
    f: OfRun<'_, T, U>,
) -> Result<AlignedVec<U>> {
    let numel = x.layout.shape().numel();
    let mut values = scratch(numel)?;
    let slice = slice(x)?;
    if is_read_whole(slice, x) {
        let x = or_copy(slice, x)?;
        if numel < FEW {
            f(&x, &mut values);
            return Ok(values);
        }
        parallel_for(numel, steps, Items(&mut values, 1), &|range, out| {
            f(&x[range], out.0);
            Ok(())
        })?;
        return Ok(values);
    }
    let data = elements::<T>(x)?;
    in_parts([&x.layout], steps, &mut values, &|[layout], mut out| {
        let mut runs = Runs::new([&layout]).pieces(BLOCK);
        let group = Group::of(&runs);
        let mut x = group.joined(data, &layout);
        while let Some(length) = group.read(&mut runs, |r| {
            x.add(r.offsets[0], r.steps[0], r.length);
        }) {
            f(x.take(length), next(&mut out, length));
        }
    })?;
    Ok(values)
}

fn runs2<A: Element, B: Element, U: Element>(
    a: &Operand,
    b: &Operand,
    f: OfRuns<'_, A, B, U>,
) -> Result<AlignedVec<U>> {
    let numel = a.layout.shape().numel();
    let mut values = scratch(numel)?;
    let (a_slice, b_slice) = (slice(a)?, slice(b)?);
    if is_read_whole(a_slice, a) && is_read_whole(b_slice, b) {
        let (a, b) = (or_copy(a_slice, a)?, or_copy(b_slice, b)?);
        if numel < FEW {
            f(&a, &b, &mut values);
            return Ok(values);
        }
        parallel_for(numel, 1, Items(&mut values, 1), &|range, out| {
            f(&a[range.clone()], &b[range], out.0);
            Ok(())
        })?;
        return Ok(values);
    }
    let (a_data, b_data) = (elements::<A>(a)?, elements::<B>(b)?);
    let layouts = [&a.layout, &b.layout];
    in_parts(layouts, 1, &mut values, &|[a, b], mut out| {
        let mut runs = Runs::new([&a, &b]).pieces(BLOCK);
        let group = Group::of(&runs);
        let (mut a, mut b) = (group.joined(a_data, &a), group.joined(b_data, &b));
        while let Some(length) = group.read(&mut runs, |r| {
            a.add(r.offsets[0], r.steps[0], r.length);
            b.add(r.offsets[1], r.steps[1], r.length);
        }) {
            f(a.take(length), b.take(length), next(&mut out, length));
        }
    })?;
    Ok(values)
}

/// Calls `f` with parts of layouts of one shape, and with those of `values`, each of whose elements takes so many
/// nanoseconds.
pub(super) fn in_parts<U: Send, const N: usize>(
    layouts: [&Layout; N],
    steps: usize,
    values: &mut [U],
    f: &(dyn Fn([Layout; N], &mut [U]) + Sync),
) -> Result<()> {
    let sizes = layouts.first().map_or(&[][..], |layout| layout.shape());
    let Some(dim) = sizes.iter().position(|&size| size > 1) else {
        f(layouts.map(Layout::clone), values);
        return Ok(());
    };
    let item = values.len() / sizes[dim];
    let work = item.saturating_mul(steps);
    parallel_for(sizes[dim], work, Items(values, item), &|range, out| {
        f(slices_of(layouts, dim, range), out.0);
        Ok(())
    })
}

/// The same range of one dimension of each layout.
fn slices_of<const N: usize>(
    layouts: [&Layout; N],
    dim: usize,
    range: Range<usize>,
) -> [Layout; N] {
    layouts.map(|layout| layout.slice(dim, range.start, range.len(), 1))
}
