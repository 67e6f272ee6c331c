//! Reading and writing by index, and joining.

use std::ops::Range;

use super::dispatch::dispatch_moved;
use super::joined_runs::next;
use super::map::{NumberKernel, by_width, run_number};
use super::memory::{filled, scratch};
use super::number::Number;
use super::threads::{Items, parallel_for};
use super::view::{into_vec, to_row_major};
use super::{CpuStorage, Element, Operand, ReduceOp, Storage, check_allocatable};
use crate::layout::{Layout, Shape};
use crate::{Result, ShapeError};

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

/// The elements of an index tensor, each checked to be below `size`.
pub(super) fn checked_indices(
    op: &'static str,
    index: &Operand,
    size: usize,
) -> Result<Vec<usize>> {
    let index = to_row_major::<i64>(index)?;
    check_allocatable::<usize>(index.len())?;
    let check = |&index: &i64| {
        let checked = usize::try_from(index).ok().filter(|&index| index < size);
        checked.ok_or_else(|| ShapeError::Index { op, index, size }.into())
    };
    index.iter().map(check).collect()
}

/// Calls `f` for each row of the index tensor with the offsets of the row and of its target in `x` for
/// index 0.
///
/// Other dimensions than `dim` of the index may be shorter than those of `x`.
fn for_each_row(
    x: &Shape,
    dim: usize,
    index: &Shape,
    mut f: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    if index.contains(&0) {
        return Ok(());
    }
    let layout = Layout::contiguous(x.clone());
    let strides = layout.strides();
    let (last, width) = (x.rank() - 1, index[x.rank() - 1]);
    let mut position = vec![0_usize; last];
    for row in 0..index.numel() / width {
        let outer = position.iter().zip(strides).enumerate();
        let start = outer
            .filter(|&(d, _)| d != dim)
            .map(|(_, (p, stride))| p * stride)
            .sum();
        f(row * width, start)?;
        for (p, &size) in position.iter_mut().zip(&**index).rev() {
            *p += 1;
            if *p < size {
                break;
            }
            *p = 0;
        }
    }
    Ok(())
}

/// A row of an index tensor, and the size of the dimension that it indexes.
struct Row<'a> {
    op: &'static str,
    indices: &'a [i64],
    size: usize,
    /// The distance between the elements of neighboring indices, and between those of neighbors in the row.
    steps: [usize; 2],
}

impl Row<'_> {
    /// Calls `f` with the offset of each element of the row and its counterpart in `others`.
    fn for_each<U>(
        &self,
        others: impl IntoIterator<Item = U>,
        mut f: impl FnMut(U, usize),
    ) -> Result<()> {
        let [step, along] = self.steps;
        let mut inside = true;
        for (i, (&index, other)) in self.indices.iter().zip(others).enumerate() {
            // A negative number becomes a large one.
            let at = index as u64;
            if at >= self.size as u64 {
                inside = false;
                break;
            }
            f(other, at as usize * step + i * along);
        }
        if inside {
            return Ok(());
        }
        let outside = |index: &&i64| **index < 0 || **index as u64 >= self.size as u64;
        let index = self
            .indices
            .iter()
            .find(outside)
            .copied()
            .unwrap_or_default();
        let (op, size) = (self.op, self.size);
        Err(ShapeError::Index { op, index, size }.into())
    }
}

/// The steps of a [`Row`].
fn steps(x: &Shape, dim: usize) -> [usize; 2] {
    let layout = Layout::contiguous(x.clone());
    [layout.strides()[dim], usize::from(dim + 1 < x.rank())]
}

pub(super) fn gather<T: Element>(x: &Operand, dim: usize, index: &Operand) -> Result<Storage> {
    let (shape, values) = (x.layout.shape(), to_row_major::<T>(x)?);
    let index_shape = index.layout.shape();
    let index = to_row_major::<i64>(index)?;
    let (size, steps) = (shape[dim], steps(shape, dim));
    check_allocatable::<T>(index.len())?;
    let mut out = filled(index.len(), T::default())?;
    if out.is_empty() {
        return Ok(CpuStorage::wrap(out));
    }
    let width = index_shape[index_shape.rank() - 1];
    check_allocatable::<usize>(index.len() / width)?;
    let mut starts = Vec::new();
    for_each_row(shape, dim, index_shape, |_, start| {
        starts.push(start);
        Ok(())
    })?;
    let work = |range: Range<usize>, Items(out, _): Items<'_, T>| {
        let indices = index[range.start * width..].chunks_exact(width);
        let rows = out.chunks_exact_mut(width).zip(indices);
        for ((out, indices), &start) in rows.zip(&starts[range]) {
            let row = Row {
                op: "gather",
                indices,
                size,
                steps,
            };
            let values = &values[start..];
            row.for_each(out, |slot, index| *slot = values[index])?;
        }
        Ok(())
    };
    parallel_for(starts.len(), width, Items(&mut out, width), &work)?;
    Ok(CpuStorage::wrap(out))
}

/// `x` with each element of the source put to the one that the index names.
fn put<T: Element>(
    op: &'static str,
    x: Operand,
    dim: usize,
    index: &Operand,
    source: &Operand,
    put: impl Fn(&mut T, T),
) -> Result<Storage> {
    let shape = x.layout.shape().clone();
    let index_shape = index.layout.shape();
    let (index, source) = (to_row_major::<i64>(index)?, to_row_major::<T>(source)?);
    let (size, steps) = (shape[dim], steps(&shape, dim));
    let mut out = into_vec::<T>(x)?;
    for_each_row(&shape, dim, index_shape, |first, start| {
        let range = first..first + index_shape[index_shape.rank() - 1];
        let row = Row {
            op,
            indices: &index[range.clone()],
            size,
            steps,
        };
        let slots = &mut out[start..];
        row.for_each(&source[range], |&v, index| put(&mut slots[index], v))
    })?;
    Ok(CpuStorage::wrap(out))
}

pub(super) fn scatter<T: Element>(
    x: Operand,
    dim: usize,
    index: &Operand,
    source: &Operand,
) -> Result<Storage> {
    put("scatter", x, dim, index, source, |slot, v: T| *slot = v)
}

pub(super) fn scatter_add(
    x: Operand,
    dim: usize,
    index: &Operand,
    source: &Operand,
) -> Result<Storage> {
    fold_into(ReduceOp::Sum, "scatter_add", x, dim, index, source)
}

pub(super) fn scatter_reduce(
    op: ReduceOp,
    x: Operand,
    dim: usize,
    index: &Operand,
    source: &Operand,
) -> Result<Storage> {
    fold_into(op, "scatter_reduce", x, dim, index, source)
}

fn fold_into(
    op: ReduceOp,
    name: &'static str,
    x: Operand,
    dim: usize,
    index: &Operand,
    source: &Operand,
) -> Result<Storage> {
    let dtype = x.storage.dtype();
    let kernel = ScatterReduce {
        op,
        name,
        x,
        dim,
        index,
        source,
    };
    run_number(dtype, kernel)
}

struct ScatterReduce<'a> {
    op: ReduceOp,
    name: &'static str,
    x: Operand,
    dim: usize,
    index: &'a Operand,
    source: &'a Operand,
}

impl NumberKernel for ScatterReduce<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        self.name
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self {
            op,
            name,
            x,
            dim,
            index,
            source,
        } = self;
        // Sums are most of what is asked for; the others share one loop.
        let fold = match op {
            ReduceOp::Sum => {
                return put(name, x, dim, index, source, |slot, v: T| {
                    *slot = slot.plus(v)
                });
            }
            ReduceOp::Prod => T::times,
            ReduceOp::Max => T::greater,
            ReduceOp::Min => T::smaller,
        };
        put(name, x, dim, index, source, |slot, v: T| {
            *slot = fold(*slot, v)
        })
    }
}

pub(super) fn index_select(x: Operand, dim: usize, index: &Operand) -> Result<Storage> {
    by_width(
        [x],
        |[x]| dispatch_moved!("index_select", x.storage.dtype(), T => slices::<T>(&x, dim, index)),
    )
}

fn slices<T: Element>(x: &Operand, dim: usize, index: &Operand) -> Result<Storage> {
    let Split { outer, size, inner } = Split::new(x.layout.shape(), dim);
    let indices = checked_indices("index_select", index, size)?;
    let total = outer * indices.len() * inner;
    let mut out = scratch(total)?;
    if total > 0 {
        let (x, count) = (to_row_major::<T>(x)?, indices.len());
        let rows = Items(&mut out, inner);
        parallel_for(outer * count, inner / 4 + 2, rows, &|rows, out| {
            let (mut block, mut at) = (rows.start / count * size, rows.start % count);
            for out in out.0.chunks_exact_mut(inner) {
                let from = (block + indices[at]) * inner;
                match out {
                    [out] => *out = x[from],
                    out => out.copy_from_slice(&x[from..from + inner]),
                }
                at += 1;
                if at == count {
                    (block, at) = (block + size, 0);
                }
            }
            Ok(())
        })?;
    }
    Ok(CpuStorage::wrap(out))
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
            for (i, mut out) in rows.zip(out.0.chunks_exact_mut(row)) {
                for (Split { size, inner, .. }, values) in &columns {
                    let width = size * inner;
                    next(&mut out, width).copy_from_slice(&values[i * width..(i + 1) * width]);
                }
            }
            Ok(())
        },
    )?;
    Ok(CpuStorage::wrap(out))
}
