//! Operands as slices, and the loops over them.

use std::ops::{Deref, Range};

use ndarray::{ArrayViewD, IxDyn, ShapeBuilder};

use super::aligned_vec::{AlignedVec, LINE};
use super::copy::{copy, copy_to, is_transposed};
use super::dispatch::dispatch;
use super::memory::scratch;
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use super::{CpuStorage, Element, Operand, Storage, check_allocatable, elements, elements_of};
use crate::layout::{Layout, Runs};
use crate::zip::{zip_mut, zip_mut2};
use crate::{Error, Result};

/// An ndarray view of a storage.
pub(crate) fn array_view<'a, T: Element>(
    storage: &'a Storage,
    layout: &Layout,
) -> Result<ArrayViewD<'a, T>> {
    if layout.shape().contains(&0) {
        // Strides and offset mean nothing without elements, and may point outside.
        return ArrayViewD::from_shape(IxDyn(layout.shape()), &[])
            .map_err(|error| layout_error(layout, &error));
    }
    let data = elements_of::<T>(storage)?
        .get(layout.offset()..)
        .unwrap_or_default();
    ArrayViewD::from_shape(IxDyn(layout.shape()).strides(IxDyn(layout.strides())), data)
        .map_err(|error| layout_error(layout, &error))
}

/// The elements of an operand as one slice, if they lie in row-major order.
#[inline]
pub(super) fn slice<T: Element>(x: &Operand) -> Result<Option<&[T]>> {
    if !x.layout.is_contiguous() {
        return Ok(None);
    }
    let numel = x.layout.shape().numel();
    if numel == 0 {
        // The offset means nothing, and may lie outside of the storage.
        return Ok(Some(&[]));
    }
    let start = x.layout.offset();
    Ok(elements::<T>(x)?.get(start..start + numel))
}

/// The little-endian bytes of elements in row-major order, where they lie as such.
pub(crate) fn le_bytes<'a>(storage: &'a Storage, layout: &Layout) -> Option<&'a [u8]> {
    if layout.shape().contains(&0) {
        return Some(&[]);
    }
    if !layout.is_contiguous() {
        return None;
    }
    let range = layout.offset()..layout.offset() + layout.shape().numel();
    dispatch!(storage.dtype(), T => T::as_le_bytes(elements_of(storage).ok()?.get(range)?))
}

/// A layout that leaves its storage breaks the invariant of `Layout`; it is reported, not read.
fn layout_error(layout: &Layout, error: &ndarray::ShapeError) -> Error {
    Error::argument(
        "cpu kernel",
        "layout",
        format_args!("{layout:?}"),
        error.to_string(),
    )
}

/// The elements in row-major order.
pub(super) fn to_vec<T: Element>(x: &Operand) -> Result<AlignedVec<T>> {
    match slice(x)? {
        Some(values) => copied(values),
        None => copy(x),
    }
}

/// A copy of the elements in row-major order, in a vector that a caller can own.
pub(super) fn to_plain_vec<T: Element>(x: &Operand) -> Result<Vec<T>> {
    let numel = x.layout.shape().numel();
    check_allocatable::<T>(numel)?;
    if let Some(values) = slice(x)? {
        return Ok(values.to_vec());
    }
    let mut values = vec![T::default(); numel];
    copy_to(x, &mut values)?;
    Ok(values)
}

/// A copy of elements that lie side by side.
pub(super) fn copied<T: Element>(values: &[T]) -> Result<AlignedVec<T>> {
    check_allocatable::<T>(values.len())?;
    let mut copy = AlignedVec::with_capacity(values.len())?;
    copy.extend_from_slice(values);
    Ok(copy)
}

/// Elements in row-major order: an operand's own, or a copy.
pub(super) enum RowMajor<'a, T: Element> {
    Borrowed(&'a [T]),
    Copied(AlignedVec<T>),
}

impl<T: Element> Deref for RowMajor<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Borrowed(values) => values,
            Self::Copied(values) => values,
        }
    }
}

/// The elements in row-major order, copied only if they lie otherwise.
pub(super) fn to_row_major<T: Element>(x: &Operand) -> Result<RowMajor<'_, T>> {
    or_copy(slice(x)?, x)
}

/// What [`slice`] gave for an operand, or a copy of its elements in row-major order.
#[inline]
fn or_copy<'a, T: Element>(slice: Option<&'a [T]>, x: &Operand) -> Result<RowMajor<'a, T>> {
    Ok(match slice {
        Some(values) => RowMajor::Borrowed(values),
        None => RowMajor::Copied(copy(x)?),
    })
}

/// Whether an operand is to be read as one slice: it is one, or copying its elements first is faster than jumping from
/// one to the next.
#[inline]
fn is_read_whole<T>(slice: Option<&[T]>, x: &Operand) -> bool {
    slice.is_some() || is_transposed(&x.layout)
}

/// The elements in row-major order, to be written: the operand's own memory if nobody else holds it.
pub(super) fn into_vec<T: Element>(mut x: Operand) -> Result<AlignedVec<T>> {
    let own = owning::<T>(&mut x).and_then(CpuStorage::take_values);
    own.map_or_else(|| to_vec(&x), Ok)
}

/// The operand's own elements, if they are all that lies in its memory and nobody else holds it.
#[inline]
pub(super) fn owned<T: Element>(x: &mut Operand) -> Option<&mut [T]> {
    owning::<T>(x)?.values_mut()
}

/// The operand's memory, if nobody else holds it and it has these elements only.
#[inline]
fn owning<T: Element>(x: &mut Operand) -> Option<&mut CpuStorage> {
    let numel = x.layout.shape().numel();
    let whole = x.layout.offset() == 0 && x.layout.is_contiguous();
    let memory = x.storage.downcast_mut::<CpuStorage>().filter(|_| whole)?;
    let holds_all = memory.values_mut::<T>()?.len() == numel;
    holds_all.then_some(memory)
}

/// Returns `length` elements of `data`, one every `step`; none if `data` is too short.
#[inline(always)]
#[allow(clippy::inline_always)]
fn every<T: Copy>(data: &[T], step: usize, length: usize) -> impl Iterator<Item = T> {
    let data = data.get(..=length.saturating_sub(1) * step);
    // A layout does not lead out of its storage.
    let (data, length) = data.map_or((&[][..], 0), |data| (data, length));
    (0..length).map(move |i| data[i * step])
}

/// The elements of a run side by side: where they lie, or gathered into `buffer`.
pub(super) fn run<'a, T: Element>(
    data: &'a [T],
    offset: usize,
    step: usize,
    length: usize,
    buffer: &'a mut Vec<T>,
) -> &'a [T] {
    let data = data.get(offset..).unwrap_or_default();
    match (step, data) {
        (1, data) => data.get(..length).unwrap_or_default(),
        (0, &[first, ..]) => {
            buffer.clear();
            buffer.resize(length, first);
            buffer
        }
        _ => {
            buffer.clear();
            buffer.extend(every(data, step, length));
            buffer
        }
    }
}

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

/// [`map1`] with all the vector instructions that the processor has, for functions of many steps.
pub(super) fn map1_wide<T: Element, U: Element>(
    x: &Operand,
    f: impl Fn(T) -> U + Copy + Sync,
) -> Result<AlignedVec<U>> {
    runs1(x, 2, &|x, out| run_at_best_level(Each { x, out, f }))
}

/// A function too large for the compiler to inline as a closure; a call for each element costs a hundred
/// times more.
pub(super) trait Steps<T>: Copy + Sync {
    /// To be marked `#[inline(always)]`.
    fn of(self, v: T) -> T;
}

/// [`map1_wide`] of such a function.
pub(super) fn map1_steps<T: Element>(x: &Operand, steps: impl Steps<T>) -> Result<AlignedVec<T>> {
    runs1(x, 2, &|x, out| run_at_best_level(EachOf { x, out, steps }))
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

/// How many elements of a run are gathered at a time.
pub(super) const BLOCK: usize = 4096;

/// Fewer elements are neither shared among threads nor aligned.
const FEW: usize = 256;

// The loops below are compiled once for each combination of types; what an operation does with a
// run is behind a pointer, because there are many operations and a run is long.

/// What an operation makes of a run, and of two.
type OfRun<'f, T, U> = &'f (dyn Fn(&[T], &mut [U]) + Sync);
type OfRuns<'f, A, B, U> = &'f (dyn Fn(&[A], &[B], &mut [U]) + Sync);

/// The number of elements before the first cache line that begins in a long slice: a vector that lies across two
/// takes twice the time to write.
fn head_of<T>(out: &[T]) -> usize {
    match out.len() < BLOCK {
        true => 0,
        false => out.as_ptr().align_offset(LINE).min(out.len()),
    }
}

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
            let x = &x[range];
            let head = head_of(out.0);
            let (first, rest) = out.0.split_at_mut(head);
            if head > 0 {
                f(&x[..head], first);
            }
            f(&x[head..], rest);
            Ok(())
        })?;
        return Ok(values);
    }
    let data = elements::<T>(x)?;
    in_parts([&x.layout], steps, &mut values, &|[layout], mut out| {
        let mut buffer = Vec::new();
        for r in Runs::new([&layout]).pieces(BLOCK) {
            let x = run(data, r.offsets[0], r.steps[0], r.length, &mut buffer);
            f(x, next(&mut out, r.length));
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
            let (a, b) = (&a[range.clone()], &b[range]);
            let head = head_of(out.0);
            let (first, rest) = out.0.split_at_mut(head);
            if head > 0 {
                f(&a[..head], &b[..head], first);
            }
            f(&a[head..], &b[head..], rest);
            Ok(())
        })?;
        return Ok(values);
    }
    let (a_data, b_data) = (elements::<A>(a)?, elements::<B>(b)?);
    let layouts = [&a.layout, &b.layout];
    in_parts(layouts, 1, &mut values, &|[a, b], mut out| {
        let (mut a_buffer, mut b_buffer) = (Vec::new(), Vec::new());
        for r in Runs::new([&a, &b]).pieces(BLOCK) {
            let a = run(a_data, r.offsets[0], r.steps[0], r.length, &mut a_buffer);
            let b = run(b_data, r.offsets[1], r.steps[1], r.length, &mut b_buffer);
            f(a, b, next(&mut out, r.length));
        }
    })?;
    Ok(values)
}

/// Calls `f` with parts of layouts of one shape, and with those of `values`, each of whose elements takes so many
/// nanoseconds.
fn in_parts<U: Send, const N: usize>(
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

/// Takes the first elements off a slice.
pub(super) fn next<'a, T>(rest: &mut &'a mut [T], length: usize) -> &'a mut [T] {
    rest.split_off_mut(..length).unwrap_or_default()
}
