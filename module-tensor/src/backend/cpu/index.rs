//! Slices that are selected by index, and joining.

use super::checked_indices::checked_indices;
use super::copy::copy_to;
use super::dispatch::dispatch_moved;
use super::interleave::{MOST_CHANNELS, join_channels};
use super::joined_runs::next;
use super::map::by_width;
use super::memory::scratch;
use super::threads::{Items, parallel_for};
use super::view::{RowMajor, slice, to_row_major};
use super::{CpuStorage, Element, Operand, Storage, elements};
use crate::Result;
use crate::layout::{MergedDim, Shape, merge_dims};
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
    let outer = parts.first().map_or(0, |part| {
        let shape = part.layout.shape();
        shape.iter().take(dim).product()
    });
    let total = parts.iter().map(|part| part.layout.shape().numel()).sum();
    if total == 0 {
        // Without elements there may still be any number of rows.
        return Ok(CpuStorage::wrap(Vec::<T>::new()));
    }
    let mut out = scratch::<T>(total)?;
    match outer {
        1 => one_after_the_other(parts, &mut out)?,
        _ => side_by_side(parts, outer, &mut out)?,
    }
    Ok(CpuStorage::wrap(out))
}

fn one_after_the_other<T: Element>(parts: &[Operand], out: &mut [T]) -> Result<()> {
    let (total, mut rest) = (out.len(), out);
    let mut wholes = Vec::with_capacity(parts.len());
    for part in parts {
        let to = next(&mut rest, part.layout.shape().numel());
        match slice(part)? {
            Some(from) => wholes.push((to, from)),
            None => copy_to(part, to)?,
        }
    }
    let work = (total / 4).div_ceil(parts.len());
    parallel_for(wholes.len(), work, Items(&mut wholes, 1), &|_, wholes| {
        for (to, from) in wholes.0 {
            to.copy_from_slice(from);
        }
        Ok(())
    })
}

/// Rows of one part, of which there are as many as of the others.
struct Rows<'a, T: Element> {
    values: RowMajor<'a, T>,
    width: usize,
    /// The distance between the starts of two rows.
    stride: usize,
}

impl<'a, T: Element> Rows<'a, T> {
    /// The rows where they lie, if each is one piece, otherwise copied.
    fn new(part: &'a Operand, rows: usize) -> Result<Self> {
        let width = part.layout.shape().numel() / rows;
        if let [row, MergedDim { size, stride: 1 }] = *merge_dims(&part.layout)
            && (row.size, size) == (rows, width)
            && row.stride >= width
        {
            let values = elements::<T>(part)?;
            let values = values.get(part.layout.offset()..).unwrap_or_default();
            return Ok(Self {
                values: RowMajor::Borrowed(values),
                width,
                stride: row.stride,
            });
        }
        Ok(Self {
            values: to_row_major(part)?,
            width,
            stride: width,
        })
    }

    /// Copies the rows from `first` on to those of `out`, which have `row` elements, of which so many come before.
    fn copy_to(&self, first: usize, out: &mut [T], row: usize, before: usize) {
        let from = self.values.get(first * self.stride..).unwrap_or_default();
        match (self.width, self.stride) {
            (0, _) => {}
            (1, 1) => {
                for (to, &from) in out[before..].iter_mut().step_by(row).zip(from) {
                    *to = from;
                }
            }
            (width, stride) => {
                // The last may end with its row.
                for (to, from) in out.chunks_exact_mut(row).zip(from.chunks(stride)) {
                    to[before..before + width].copy_from_slice(&from[..width]);
                }
            }
        }
    }
}

fn side_by_side<T: Element>(parts: &[Operand], outer: usize, out: &mut [T]) -> Result<()> {
    let parts = parts.iter().map(|part| Rows::new(part, outer));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let row = out.len() / outer;
    let are_channels = parts.iter().all(|part| (part.width, part.stride) == (1, 1))
        && (2..=MOST_CHANNELS).contains(&parts.len());
    let steps = row / 4 + 2 * parts.len();
    parallel_for(outer, steps, Items(out, row), &|rows, out| {
        if are_channels {
            let channel = |c: usize| &parts[c].values[rows.clone()];
            join_channels(parts.len(), channel, out.0);
            return Ok(());
        }
        // A block of rows at a time, part by part, so that short parts of a row are not looked for one by one.
        let height = (BLOCK / row).max(1);
        let blocks = out.0.chunks_mut(height * row);
        for (first, out) in rows.step_by(height).zip(blocks) {
            let mut before = 0;
            for part in &parts {
                part.copy_to(first, out, row, before);
                before += part.width;
            }
        }
        Ok(())
    })
}

/// The elements of the rows that are joined at a time.
const BLOCK: usize = 4096;

#[cfg(test)]
mod tests;
