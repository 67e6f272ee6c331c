//! Slices that are selected by index, and joining.

use super::checked_indices::checked_indices;
use super::dispatch::dispatch_moved;
use super::interleave::{MOST_CHANNELS, join_channels};
use super::joined_runs::next;
use super::map::by_width;
use super::memory::scratch;
use super::threads::{Items, parallel_for};
use super::view::to_row_major;
use super::{CpuStorage, Element, Operand, Storage};
use crate::Result;
use crate::layout::Shape;
use crate::zip::zip_mut;

/// A tensor as `[outer, size, inner]` around one dimension.
pub(super) struct Split {
    outer: usize,
    pub(super) size: usize,
    pub(super) inner: usize,
}

impl Split {
    pub(super) fn new(shape: &Shape, dim: usize) -> Self {
        Self {
            outer: shape[..dim].iter().product(),
            size: shape[dim],
            inner: shape[dim + 1..].iter().product(),
        }
    }
}

/// Fewer elements of a line are selected one by one.
const FEW: usize = 32;

pub(super) fn index_select(x: Operand, dim: usize, index: &Operand) -> Result<Storage> {
    by_width(
        [x],
        |[x]| dispatch_moved!("index_select", x.storage.dtype(), T => slices::<T>(&x, dim, index)),
    )
}

fn slices<T: Element>(x: &Operand, dim: usize, index: &Operand) -> Result<Storage> {
    let Split { outer, size, inner } = Split::new(x.layout.shape(), dim);
    let indices = checked_indices("index_select", index, size)?;
    let (count, width) = (indices.len(), size * inner);
    let mut out = scratch(outer * count * inner)?;
    if out.is_empty() {
        return Ok(CpuStorage::wrap(out));
    }
    let x = to_row_major::<T>(x)?;
    if inner == 1 && count < FEW {
        let lines = Items(&mut out, count);
        parallel_for(outer, count, lines, &|range, lines| {
            let x = x[range.start * size..range.end * size].chunks_exact(size);
            for (out, x) in lines.0.chunks_exact_mut(count).zip(x) {
                for (out, &index) in zip_mut(out, &indices) {
                    *out = x[index as usize];
                }
            }
            Ok(())
        })?;
        return Ok(CpuStorage::wrap(out));
    }
    let slice_ns = if inner == 1 { 1 } else { inner / 4 + 2 };
    parallel_for(outer * count, slice_ns, Items(&mut out, inner), &|range,
                                                                    Items(
        mut out,
        _,
    )| {
        let (mut block, mut at) = (range.start / count, range.start % count);
        while !out.is_empty() {
            let these = &indices[at..count.min(at + out.len() / inner)];
            let out = next(&mut out, these.len() * inner);
            select(&x[block * width..][..width], inner, these, out);
            (block, at) = (block + 1, 0);
        }
        Ok(())
    })?;
    Ok(CpuStorage::wrap(out))
}

/// Copies slices of `inner` elements, whose indices were checked.
fn select<T: Element>(x: &[T], inner: usize, indices: &[i64], out: &mut [T]) {
    if inner == 1 {
        let (several, rest) = out.as_chunks_mut::<8>();
        let (indices, last) = indices.as_chunks::<8>();
        for (out, indices) in zip_mut(several, indices) {
            *out = indices.map(|index| x[index as usize]);
        }
        for (out, &index) in zip_mut(rest, last) {
            *out = x[index as usize];
        }
        return;
    }
    for (out, &index) in out.chunks_exact_mut(inner).zip(indices) {
        out.copy_from_slice(&x[index as usize * inner..][..inner]);
    }
}

pub(super) fn cat(parts: Vec<Operand>, dim: usize) -> Result<Storage> {
    by_width(parts, |parts| {
        let Some(first) = parts.first() else {
            let problem = "there is nothing to join";
            return Err(crate::Error::argument("cat", "parts", "[]", problem));
        };
        dispatch_moved!("cat", first.storage.dtype(), T => joined::<T>(&parts, dim))
    })
}

fn joined<T: Element>(parts: &[Operand], dim: usize) -> Result<Storage> {
    let mut columns = Vec::with_capacity(parts.len());
    for part in parts {
        columns.push((
            Split::new(part.layout.shape(), dim),
            to_row_major::<T>(part)?,
        ));
    }
    let outer = columns.first().map_or(0, |(split, _)| split.outer);
    let total = columns.iter().map(|(_, values)| values.len()).sum();
    if total == 0 {
        // Without elements there may still be any number of rows.
        return Ok(CpuStorage::wrap(Vec::<T>::new()));
    }
    let mut out = scratch(total)?;
    if outer == 1 {
        // One part after the other.
        let mut rest = &mut *out;
        let to = columns
            .iter()
            .map(|(_, values)| next(&mut rest, values.len()));
        let mut parts: Vec<_> = to.zip(&columns).collect();
        let work = (total / 4).div_ceil(parts.len());
        parallel_for(parts.len(), work, Items(&mut parts, 1), &|_, parts| {
            for (to, (_, from)) in parts.0 {
                to.copy_from_slice(from);
            }
            Ok(())
        })?;
        return Ok(CpuStorage::wrap(out));
    }
    let row = total / outer;
    parallel_for(
        outer,
        row / 4 + 2 * columns.len(),
        Items(&mut out, row),
        &|rows, out| {
            if columns.iter().all(|(_, values)| values.len() == outer)
                && (2..=MOST_CHANNELS).contains(&columns.len())
            {
                let channels: Vec<&[T]> = columns.iter().map(|(_, v)| &v[rows.clone()]).collect();
                join_channels(&channels, out.0);
                return Ok(());
            }
            // A block of rows at a time, part by part, so that short parts of a row are not looked for one by one.
            let height = (BLOCK / row).max(1);
            for (i, out) in rows
                .clone()
                .step_by(height)
                .zip(out.0.chunks_mut(height * row))
            {
                let mut before = 0;
                for (Split { size, inner, .. }, values) in &columns {
                    let width = size * inner;
                    copy_part(&values[i * width..], width, out, row, before);
                    before += width;
                }
            }
            Ok(())
        },
    )?;
    Ok(CpuStorage::wrap(out))
}

/// The elements of the rows that are joined at a time.
const BLOCK: usize = 4096;

/// Copies rows of `width` elements to those of `out`, which have `row` elements, of which so many come before.
fn copy_part<T: Copy>(from: &[T], width: usize, out: &mut [T], row: usize, before: usize) {
    match width {
        0 => {}
        1 => {
            for (to, &from) in out[before..].iter_mut().step_by(row).zip(from) {
                *to = from;
            }
        }
        _ => {
            for (to, from) in out.chunks_exact_mut(row).zip(from.chunks_exact(width)) {
                to[before..before + width].copy_from_slice(from);
            }
        }
    }
}

#[cfg(test)]
mod tests;
