//! Loops over the elements of operands, in row-major order, wherever they lie.

use std::ops::Range;

use super::aligned_vec::AlignedVec;
use super::joined_runs::{Group, Joined, next};
use super::memory::scratch;
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use super::view::{is_read_whole, slice, take_to_reuse, to_row_major};
use super::{Element, Operand, elements};
use crate::Result;
use crate::layout::Layout;
use crate::zip::{zip_mut, zip_mut2};

/// An operation on a run of each operand.
pub(super) type OfRuns<'f, T, U, const N: usize> = &'f (dyn Fn([&[T]; N], &mut [U]) + Sync);

/// `f` of each element, in row-major order.
pub(super) fn map1<T: Element, U: Element>(
    x: &Operand,
    f: impl Fn(T) -> U + Copy + Sync,
) -> Result<AlignedVec<U>> {
    runs([x], 1, &|[x], out| {
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
    f: fn(&[T], &mut [U]),
) -> Result<AlignedVec<U>> {
    runs([x], 1, &|[x], out| f(x, out))
}

/// [`map1`] with all the vector instructions that the processor has, for functions of many steps.
pub(super) fn map1_wide<T: Element, U: Element>(
    x: &Operand,
    f: impl Fn(T) -> U + Copy + Sync,
) -> Result<AlignedVec<U>> {
    runs([x], 2, &|[x], out| run_at_best_level(Each { x, out, f }))
}

/// `f` of each pair of elements, with all the vector instructions that the processor has.
pub(super) fn map2_wide<T: Element, U: Element>(
    a: &Operand,
    b: &Operand,
    f: impl Fn(T, T) -> U + Copy + Sync,
) -> Result<AlignedVec<U>> {
    runs([a, b], 1, &|[a, b], out| {
        run_at_best_level(EachPair { a, b, out, f });
    })
}

pub(super) struct Each<'a, T, U, F> {
    pub(super) x: &'a [T],
    pub(super) out: &'a mut [U],
    pub(super) f: F,
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

pub(super) struct EachPair<'a, T, U, F> {
    pub(super) a: &'a [T],
    pub(super) b: &'a [T],
    pub(super) out: &'a mut [U],
    pub(super) f: F,
}

impl<T: Copy, U: Element, F: Fn(T, T) -> U> Loop for EachPair<'_, T, U, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for (out, &a, &b) in zip_mut2(self.out, self.a, self.b) {
            *out = (self.f)(a, b);
        }
    }
}

/// Fewer elements are not shared among threads.
const FEW: usize = 256;

/// What `f` makes of the elements of operands of one shape, which take so many nanoseconds each.
///
/// It is compiled once for each combination of types; what an operation does with a run is behind a pointer, because
/// there are many operations and a run is long.
pub(super) fn runs<T: Element, U: Element, const N: usize>(
    operands: [&Operand; N],
    ns: usize,
    f: OfRuns<'_, T, U, N>,
) -> Result<AlignedVec<U>> {
    let numel = operands.first().map_or(0, |x| x.layout.shape().numel());
    let mut values = scratch(numel)?;
    let (mut whole, mut are_slices) = ([&[][..]; N], true);
    for (whole, x) in whole.iter_mut().zip(operands) {
        match slice::<T>(x)? {
            Some(elements) => *whole = elements,
            None => are_slices = false,
        }
    }
    if are_slices {
        on_slices(whole, 1, ns, f, &mut values)?;
    } else if operands.iter().all(|x| is_read_whole(x)) {
        on_copies(operands, 1, ns, f, &mut values)?;
    } else {
        on_runs(operands, ns, f, &mut values)?;
    }
    Ok(values)
}

/// [`runs`], in the memory of an operand if nobody else holds it.
pub(super) fn runs_over<T: Element, const N: usize>(
    operands: [&mut Operand; N],
    ns: usize,
    f: OfRuns<'_, T, T, N>,
) -> Result<AlignedVec<T>> {
    if operands.iter().all(|x| x.layout.is_contiguous()) {
        for i in 0..N {
            if let Some(mut values) = take_to_reuse(operands[i]) {
                over_slices(operands.map(|x| &*x), i, ns, f, &mut values)?;
                return Ok(values);
            }
        }
    }
    runs(operands.map(|x| &*x), ns, f)
}

/// The elements that are read before they are written over.
pub(super) const PIECE: usize = 1024;

/// [`runs`] of elements in row-major order, those of operand `own` in `values`, which the results replace.
fn over_slices<T: Element, const N: usize>(
    operands: [&Operand; N],
    own: usize,
    ns: usize,
    f: OfRuns<'_, T, T, N>,
    values: &mut [T],
) -> Result<()> {
    let mut whole = [&[][..]; N];
    for (i, (whole, x)) in whole.iter_mut().zip(operands).enumerate() {
        if i != own {
            *whole = slice::<T>(x)?.unwrap_or_default();
        }
    }
    parallel_for(values.len(), ns, Items(values, 1), &|range, out| {
        let mut piece = [T::default(); PIECE];
        for (start, out) in range.step_by(PIECE).zip(out.0.chunks_mut(PIECE)) {
            let piece = &mut piece[..out.len()];
            piece.copy_from_slice(out);
            let mut parts = whole.map(|x| x.get(start..start + out.len()).unwrap_or_default());
            parts[own] = piece;
            f(parts, out);
        }
        Ok(())
    })
}

/// [`runs`] of whole blocks of so many elements.
pub(super) fn blocks<T: Element, U: Element, const N: usize>(
    operands: [&Operand; N],
    block: usize,
    ns: usize,
    f: OfRuns<'_, T, U, N>,
) -> Result<AlignedVec<U>> {
    let mut values = scratch(operands.first().map_or(0, |x| x.layout.shape().numel()))?;
    // Without elements, blocks may have none.
    on_copies(operands, block.max(1), ns, f, &mut values)?;
    Ok(values)
}

/// [`blocks`] of elements that lie in row-major order.
#[inline]
fn on_slices<T: Element, U: Element, const N: usize>(
    slices: [&[T]; N],
    block: usize,
    ns: usize,
    f: OfRuns<'_, T, U, N>,
    values: &mut [U],
) -> Result<()> {
    let numel = values.len();
    if numel < FEW {
        f(slices, values);
        return Ok(());
    }
    let (count, block_ns) = (numel / block, block.saturating_mul(ns));
    parallel_for(count, block_ns, Items(values, block), &|range, out| {
        let range = range.start * block..range.end * block;
        let mut parts = [&[][..]; N];
        for (part, x) in zip_mut(&mut parts, &slices) {
            *part = &x[range.clone()];
        }
        f(parts, out.0);
        Ok(())
    })
}

/// [`blocks`] of elements that are copied first, unless they lie in row-major order.
fn on_copies<T: Element, U: Element, const N: usize>(
    operands: [&Operand; N],
    block: usize,
    ns: usize,
    f: OfRuns<'_, T, U, N>,
    values: &mut [U],
) -> Result<()> {
    let (mut copies, mut whole) = ([const { None }; N], [&[][..]; N]);
    for ((copy, whole), x) in copies.iter_mut().zip(&mut whole).zip(operands) {
        *whole = copy.insert(to_row_major::<T>(x)?);
    }
    on_slices(whole, block, ns, f, values)
}

/// [`runs`] of elements that are read where they lie.
fn on_runs<T: Element, U: Element, const N: usize>(
    operands: [&Operand; N],
    ns: usize,
    f: OfRuns<'_, T, U, N>,
    values: &mut [U],
) -> Result<()> {
    let mut data = [&[][..]; N];
    for (data, x) in data.iter_mut().zip(operands) {
        *data = elements::<T>(x)?;
    }
    let layouts = operands.map(|x| &x.layout);
    in_parts(layouts, ns, values, &|layouts, mut out| {
        let layouts = layouts.each_ref();
        let (mut blocks, group) = Group::of(layouts);
        let mut joined: [Joined<'_, T>; N] =
            std::array::from_fn(|i| group.joined(data[i], layouts[i]));
        while let Some(length) = group.read(&mut blocks, |block| {
            for (i, joined) in joined.iter_mut().enumerate() {
                joined.add(block, i);
            }
        }) {
            let mut elements = [&[][..]; N];
            for (elements, joined) in elements.iter_mut().zip(&mut joined) {
                *elements = joined.take(length);
            }
            f(elements, next(&mut out, length));
        }
    })
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

#[cfg(test)]
mod tests;
