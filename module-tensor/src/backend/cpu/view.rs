//! Operands as slices and vectors.

use std::ops::Deref;

use ndarray::{ArrayViewD, IxDyn, ShapeBuilder};

use super::aligned_vec::AlignedVec;
use super::blocks::REUSED_SIZES;
use super::copy::{copy, copy_to, is_transposed};
use super::dispatch::dispatch;
use super::memory::scratch;
use super::{CpuStorage, Element, Operand, Storage, check_allocatable, elements, elements_of};
use crate::layout::Layout;
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

/// The elements in row-major order, where they lie as such in host memory.
pub(crate) fn host_slice<'a, T: Element>(storage: &'a Storage, layout: &Layout) -> Option<&'a [T]> {
    if layout.shape().contains(&0) {
        return Some(&[]);
    }
    if !layout.is_contiguous() {
        return None;
    }
    let range = layout.offset()..layout.offset() + layout.shape().numel();
    elements_of(storage).ok()?.get(range)
}

/// The little-endian bytes of elements in row-major order, where they lie as such.
pub(crate) fn le_bytes<'a>(storage: &'a Storage, layout: &Layout) -> Option<&'a [u8]> {
    if layout.shape().contains(&0) {
        return Some(&[]);
    }
    dispatch!(storage.dtype(), T => T::as_le_bytes(host_slice(storage, layout)?))
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

/// The result of [`slice`] for an operand, or a copy of its elements in row-major order.
#[inline]
pub(super) fn or_copy<'a, T: Element>(
    slice: Option<&'a [T]>,
    x: &Operand,
) -> Result<RowMajor<'a, T>> {
    Ok(match slice {
        Some(values) => RowMajor::Borrowed(values),
        None => RowMajor::Copied(copy(x)?),
    })
}

/// Whether an operand is to be read as one slice: it is one, or copying its elements first is faster than jumping from
/// one to the next.
pub(super) fn is_read_whole(x: &Operand) -> bool {
    x.layout.is_contiguous() || is_transposed(&x.layout)
}

/// The elements in row-major order, to be written: the operand's own memory if nobody else holds it.
pub(super) fn into_vec<T: Element>(mut x: Operand) -> Result<AlignedVec<T>> {
    take_owned(&mut x).map_or_else(|| to_vec(&x), Ok)
}

/// The operand's own memory, if it has these elements only and nobody else holds it.
pub(super) fn take_owned<T: Element>(x: &mut Operand) -> Option<AlignedVec<T>> {
    owning::<T>(x).and_then(CpuStorage::take_values)
}

/// [`take_owned`], where writing a result over the elements pays: they are copied first, piece by piece, and memory of fewer bytes
/// takes less time to allocate.
pub(super) fn take_to_reuse<T: Element>(x: &mut Operand) -> Option<AlignedVec<T>> {
    let bytes = x.layout.shape().numel() * size_of::<T>();
    let is_large = bytes >= REUSED_SIZES.start;
    is_large.then(|| take_owned(x)).flatten()
}

/// Memory for a result that begins as the elements of an operand, and those that are still to be copied there: none if it is
/// the operand's own memory. Threads that each copy the part that they then change find it in their caches.
pub(super) fn to_change<T: Element>(x: &mut Operand) -> Result<(AlignedVec<T>, Option<&[T]>)> {
    if let Some(own) = take_owned(x) {
        return Ok((own, None));
    }
    Ok(match slice(x)? {
        Some(values) => (scratch(values.len())?, Some(values)),
        None => (copy(x)?, None),
    })
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
