//! Writing through a layout: the inverse of views, and constant padding.

use super::aligned_vec::AlignedVec;
use super::copy::each_offset;
use super::dispatch::dispatch_moved;
use super::full::full;
use super::joined_runs::{next, run};
use super::map::{NumberKernel, by_width, run_number, through_wide};
use super::memory::{filled, scratch};
use super::number::Number;
use super::threads::{Items, parallel_for};
use super::view::to_row_major;
use super::{CpuStorage, Element, Operand, Storage, check_allocatable, elements};
use crate::layout::{Layout, MergedDim, Runs, Shape, merge_dims};
use crate::{Result, Scalar};

/// The bytes that are filled and then written over while they are in the fastest cache.
const PIECE: usize = 1 << 14;

pub(super) fn as_strided_scatter(
    x: Operand,
    layout: &Layout,
    numel: usize,
    fill: Scalar,
) -> Result<Storage> {
    if layout.overlaps() {
        return through_wide([x], |[x]| {
            run_number(x.storage.dtype(), Add { x, layout, numel })
        });
    }
    let fill = Operand {
        storage: full(1, x.storage.dtype(), fill)?,
        layout: Layout::contiguous(Shape::from(1)),
    };
    by_width([x, fill], |[x, fill]| {
        dispatch_moved!("as_strided_scatter", x.storage.dtype(), T => {
            check_allocatable::<T>(numel)?;
            let value = elements::<T>(&fill)?.first().copied().unwrap_or_default();
            Ok(CpuStorage::wrap(surrounded(&x, layout, numel, value)?))
        })
    })
}

/// Elements `fill` around those of `x`, each of which has a position of its own.
fn surrounded<T: Element>(
    x: &Operand,
    layout: &Layout,
    numel: usize,
    fill: T,
) -> Result<AlignedVec<T>> {
    let dims = merge_dims(layout);
    let (first, inner) = match &*dims {
        [first, inner @ ..] if inner.iter().all(|dim| dim.stride < first.stride) => (*first, inner),
        // The slices of the first dimension lie within each other.
        _ => {
            let mut out = filled(numel, fill)?;
            write(x, layout, &mut out, |slot, v: T| *slot = v)?;
            return Ok(out);
        }
    };
    if x.layout.shape().contains(&0) {
        return filled(numel, fill);
    }
    let values = to_row_major::<T>(x)?;
    let mut out = scratch(numel)?;
    // Slices of the first dimension that fit in a piece, or one.
    let slices = (PIECE / size_of::<T>() / first.stride).max(1);
    let (count, piece) = (first.size.div_ceil(slices), slices * first.stride);
    let read = slices * (values.len() / first.size);
    let (before, rest) = out.split_at_mut(layout.offset());
    let (pieces, after) = rest.split_at_mut(rest.len().min(count * piece));
    before.fill(fill);
    after.fill(fill);
    parallel_for(
        count,
        piece / 4 + read / 4,
        Items(pieces, piece),
        &|range, Items(mut out, _)| {
            for i in range {
                // The last piece may end with its last element.
                let length = piece.min(out.len());
                let out = next(&mut out, length);
                out.fill(fill);
                let values = &values[i * read..values.len().min((i + 1) * read)];
                let size = slices.min(first.size - i * slices);
                let mut dims = vec![MergedDim { size, ..first }];
                dims.extend_from_slice(inner);
                write_dims(values, &dims, out, |out, stride, line| match stride {
                    1 => out[..line.len()].copy_from_slice(line),
                    _ => put_line(out, stride, line, |slot, v| *slot = v),
                });
            }
            Ok(())
        },
    )?;
    Ok(out)
}

/// Puts the elements of a line `stride` apart.
fn put_line<T: Element>(out: &mut [T], stride: usize, line: &[T], put: impl Fn(&mut T, T)) {
    let slots = out.iter_mut().step_by(stride);
    slots.zip(line).for_each(|(slot, &v)| put(slot, v));
}

/// Puts elements in row-major order where the dimensions say, by `put_line` of what begins with the first element of a line, the
/// distance between its elements, and the line.
fn write_dims<T: Element>(
    values: &[T],
    dims: &[MergedDim],
    out: &mut [T],
    put_line: impl Fn(&mut [T], usize, &[T]),
) {
    let lines = |values: &[T], rows: usize, step: usize, stride: usize, out: &mut [T]| {
        let width = values.len() / rows;
        for (i, line) in values.chunks_exact(width).enumerate() {
            put_line(&mut out[i * step..], stride, line);
        }
    };
    match *dims {
        [] => {}
        [line] => lines(values, 1, 0, line.stride, out),
        [ref outer @ .., row, line] => {
            let block = row.size * line.size;
            each_offset(outer, &mut |i, offset| {
                let values = &values[i * block..][..block];
                lines(
                    values,
                    row.size,
                    row.stride,
                    line.stride,
                    &mut out[offset..],
                );
            });
        }
    }
}

struct Add<'a> {
    x: Operand,
    layout: &'a Layout,
    numel: usize,
}

impl NumberKernel for Add<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "slice"
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self { x, layout, numel } = self;
        check_allocatable::<T>(numel)?;
        let mut out = filled(numel, T::zero())?;
        let add = |slot: &mut T, v| *slot = slot.plus(v);
        let dims = merge_dims(layout);
        let Some((first, inner)) = slices_apart(&dims) else {
            write(&x, layout, &mut out, add)?;
            return Ok(CpuStorage::wrap(out));
        };
        let values = to_row_major::<T>(&x)?;
        let (count, slice) = (values.len() / first.size, first.stride);
        let slices = &mut out[layout.offset()..];
        let end = slices.len().min(first.size * slice);
        let slices = Items(&mut slices[..end], slice);
        parallel_for(first.size, count, slices, &|range, Items(mut out, _)| {
            for i in range {
                // The last slice may end with its last element.
                let length = slice.min(out.len());
                let values = &values[i * count..][..count];
                write_dims(
                    values,
                    inner,
                    next(&mut out, length),
                    |out, stride, line| {
                        put_line(out, stride, line, add);
                    },
                );
            }
            Ok(())
        })?;
        Ok(CpuStorage::wrap(out))
    }
}

/// The first dimension and the others, if elements of different slices never lie at one place, although those of one may.
fn slices_apart(dims: &[MergedDim]) -> Option<(MergedDim, &[MergedDim])> {
    let (first, inner) = dims.split_first()?;
    let reach = inner.iter().map(|dim| (dim.size - 1) * dim.stride);
    let are_filled = dims.iter().all(|dim| dim.size > 0);
    (are_filled && !inner.is_empty() && reach.sum::<usize>() < first.stride)
        .then_some((*first, inner))
}

/// Puts each element of `x` where `layout` says.
fn write<T: Element>(
    x: &Operand,
    layout: &Layout,
    out: &mut [T],
    put: impl Fn(&mut T, T),
) -> Result<()> {
    let (data, mut buffer) = (elements::<T>(x)?, Vec::new());
    for r in Runs::new([&x.layout, layout]) {
        let values = run(data, r.offsets[0], r.steps[0], r.length, &mut buffer);
        let slots = out.get_mut(r.offsets[1]..).unwrap_or_default();
        match r.steps[1] {
            0 => {
                if let Some(slot) = slots.first_mut() {
                    values.iter().for_each(|&v| put(slot, v));
                }
            }
            1 => slots
                .iter_mut()
                .zip(values)
                .for_each(|(slot, &v)| put(slot, v)),
            step => {
                let slots = slots.iter_mut().step_by(step);
                slots.zip(values).for_each(|(slot, &v)| put(slot, v));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
