//! Elements that are read and written by index along one dimension.

use std::ops::Range;

use smallvec::SmallVec;

use super::checked_indices::{check_indices, index_error, is_outside};
use super::joined_runs::next;
use super::map::{NumberKernel, run_number};
use super::memory::scratch;
use super::number::Number;
use super::threads::{Items, SplitRows, parallel_for};
use super::view::{into_vec, to_change, to_row_major};
use super::{CpuStorage, Element, Operand, ReduceOp, Storage, check_allocatable};
use crate::Result;
use crate::layout::{Layout, Shape, offsets};
use crate::zip::zip;

/// Fewer indices of the first dimension are not shared among threads.
const MANY: usize = 1 << 16;

/// The columns that a thread writes at least.
const STRIPE: usize = 64;

/// The sizes of a tensor and of an index into it, dimension by dimension.
struct Sizes {
    /// One dimension before that of the index and at most one after it, if the index covers all of these.
    pairs: SmallVec<[[usize; 2]; 4]>,
    /// The dimension that the indices are of, which is not the first.
    dim: usize,
}

impl Sizes {
    /// Merges a dimension with the one before it where the index covers it.
    fn new(shape: &Shape, dim: usize, index: &Shape) -> Self {
        let mut pairs: SmallVec<[[usize; 2]; 4]> = SmallVec::new();
        let mut at = 0;
        for (d, (&size, &count)) in shape.iter().zip(index.iter()).enumerate() {
            match pairs.last_mut() {
                Some([sizes, counts]) if size == count && d != dim && d != dim + 1 => {
                    *sizes *= size;
                    *counts *= count;
                }
                _ => pairs.push([size, count]),
            }
            if d == dim {
                at = pairs.len() - 1;
            }
        }
        if at == 0 {
            pairs.insert(0, [1, 1]);
            at = 1;
        }
        Self { pairs, dim: at }
    }
}

/// The rows of an index tensor, beside a tensor whose elements they name.
struct Rows {
    op: &'static str,
    /// For each row, the offset of the element that index 0 names at its start.
    starts: Vec<usize>,
    /// The number of indices of a row.
    width: usize,
    /// The size of the dimension that the indices are of.
    size: usize,
    /// The distance between the elements of neighboring indices, and between those of neighbors in a row.
    steps: [usize; 2],
}

impl Rows {
    /// The rows of an index that is not empty, of the dimensions from `first` on.
    fn new(op: &'static str, sizes: &Sizes, first: usize, indices: &[i64]) -> Result<Self> {
        let (pairs, dim) = (&sizes.pairs[first..], sizes.dim - first);
        if pairs[dim][0] == 0 {
            return Err(index_error(op, indices, 0));
        }
        let shape: Shape = pairs.iter().map(|[size, _]| *size).collect();
        let layout = Layout::contiguous(shape);
        let mut strides: SmallVec<[usize; 4]> = SmallVec::from_slice(layout.strides());
        let step = std::mem::take(&mut strides[dim]);
        let counts: SmallVec<[usize; 4]> = pairs.iter().map(|[_, count]| *count).collect();
        // Rows are as long as can be.
        let last = counts.iter().rposition(|count| *count > 1).unwrap_or(0);
        check_allocatable::<usize>(counts[..last].iter().product())?;
        Ok(Self {
            op,
            starts: offsets(0, &counts[..last], &strides[..last]),
            width: counts[last],
            size: pairs[dim][0],
            steps: [step, strides[last]],
        })
    }

    /// Reads the elements that indices of a row name, from `position` in the row on.
    fn read<T: Element>(
        &self,
        values: &[T],
        [row, position]: [usize; 2],
        indices: &[i64],
        out: &mut [T],
    ) -> Result<()> {
        let (start, size) = (self.starts[row], self.size);
        if self.steps == [1, 0] {
            let values = &values[start..][..size];
            return self.for_each(indices, size, out, |slot, at, _| *slot = values[at]);
        }
        let [step, along] = self.steps;
        let values = &values[start + position * along..];
        self.for_each(indices, size, out, |slot, at, i| {
            *slot = values[at * step + i * along];
        })
    }

    /// Puts the elements of all rows of `source` to those that the indices name.
    fn write<T: Element>(
        &self,
        out: &mut [T],
        indices: &[i64],
        source: &[T],
        put: impl Fn(&mut T, T) + Copy,
    ) -> Result<()> {
        let (size, [step, along]) = (self.size, self.steps);
        let rows = indices.chunks_exact(self.width);
        let rows = rows.zip(source.chunks_exact(self.width));
        for (&start, (indices, source)) in self.starts.iter().zip(rows) {
            if self.steps == [1, 0] {
                let out = &mut out[start..][..size];
                self.for_each(indices, size, source, |&v, at, _| put(&mut out[at], v))?;
            } else {
                let out = &mut out[start..];
                self.for_each(indices, size, source, |&v, at, i| {
                    put(&mut out[at * step + i * along], v);
                })?;
            }
        }
        Ok(())
    }

    /// The same for an index of the first of two dimensions, the last of which has `inner` elements. Threads share the
    /// columns, and copy theirs from `shared`, if there is one, before they write there.
    fn write_stripes<T: Element>(
        &self,
        out: &mut [T],
        inner: usize,
        shared: Option<&[T]>,
        indices: &[i64],
        source: &[T],
        put: impl Fn(&mut T, T) + Copy + Sync,
    ) -> Result<()> {
        // No thread sees all indices in order, so that one that is out of range is found before.
        check_indices(self.op, indices, self.size)?;
        let lines = SplitRows {
            rows: out.chunks_exact_mut(inner).collect(),
            items: STRIPE,
            between_rows: false,
        };
        let stripes = inner.div_ceil(STRIPE);
        let stripe_ns = STRIPE * (self.size / 8 + indices.len() / self.width);
        parallel_for(stripes, stripe_ns, lines, &|range, lines| {
            let (first, mut lines) = (range.start * STRIPE, lines.rows);
            if let Some(shared) = shared {
                for (line, shared) in lines.iter_mut().zip(shared.chunks_exact(inner)) {
                    line.copy_from_slice(&shared[first..][..line.len()]);
                }
            }
            let end = self.width.min(range.end * STRIPE);
            let columns = first.min(end)..end;
            let rows = indices.chunks_exact(self.width);
            for (indices, source) in rows.zip(source.chunks_exact(self.width)) {
                let these = zip(&indices[columns.clone()], &source[columns.clone()]);
                for (i, (&index, &v)) in these.enumerate() {
                    put(&mut lines[index as usize][i], v);
                }
            }
            Ok(())
        })
    }

    /// Calls `f` with each of `others`, the index beside it, which is below `size`, and its position among them.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn for_each<U>(
        &self,
        indices: &[i64],
        size: usize,
        others: impl IntoIterator<Item = U>,
        mut f: impl FnMut(U, usize, usize),
    ) -> Result<()> {
        for (i, (&index, other)) in indices.iter().zip(others).enumerate() {
            if is_outside(index, size) {
                return Err(index_error(self.op, indices, size));
            }
            f(other, index as usize, i);
        }
        Ok(())
    }
}

pub(super) fn gather<T: Element>(x: &Operand, dim: usize, index: &Operand) -> Result<Storage> {
    let sizes = Sizes::new(x.layout.shape(), dim, index.layout.shape());
    let (values, indices) = (to_row_major::<T>(x)?, to_row_major::<i64>(index)?);
    let mut out = scratch(indices.len())?;
    if out.is_empty() {
        return Ok(CpuStorage::wrap(out));
    }
    let rows = Rows::new("gather", &sizes, 0, &indices)?;
    let work = |range: Range<usize>, Items(mut out, _): Items<'_, T>| {
        let mut indices = &indices[range.clone()];
        let (mut row, mut position) = (range.start / rows.width, range.start % rows.width);
        while !indices.is_empty() {
            let (these, rest) = indices.split_at(indices.len().min(rows.width - position));
            rows.read(&values, [row, position], these, next(&mut out, these.len()))?;
            (indices, row, position) = (rest, row + 1, 0);
        }
        Ok(())
    };
    parallel_for(indices.len(), 1, Items(&mut out, 1), &work)?;
    Ok(CpuStorage::wrap(out))
}

/// `x` with each element of the source put to the one that the index names.
///
/// Threads share the dimensions before that of the index, so that each element is written in the order of the source.
fn put<T: Element>(
    op: &'static str,
    mut x: Operand,
    dim: usize,
    index: &Operand,
    source: &Operand,
    put: impl Fn(&mut T, T) + Copy + Sync,
) -> Result<Storage> {
    let sizes = Sizes::new(x.layout.shape(), dim, index.layout.shape());
    let (indices, source) = (to_row_major::<i64>(index)?, to_row_major::<T>(source)?);
    if indices.is_empty() {
        return Ok(CpuStorage::wrap(into_vec::<T>(x)?));
    }
    let (mut out, shared) = to_change::<T>(&mut x)?;
    let rows = Rows::new(op, &sizes, 1, &indices)?;
    let [blocks, indexed] = sizes.pairs[0];
    if let ([[1, _], _, [inner, columns]], 1) = (&sizes.pairs[..], sizes.dim)
        && *columns > 1
        && indices.len() >= MANY
    {
        rows.write_stripes(&mut out, *inner, shared, &indices, &source, put)?;
        return Ok(CpuStorage::wrap(out));
    }
    let (block, count) = (out.len() / blocks, indices.len() / indexed);
    let work = |range: Range<usize>, mut out: Items<'_, T>| {
        let first = range.start;
        for i in range {
            let out = out.at(i - first);
            if let Some(values) = shared {
                out.copy_from_slice(&values[i * block..][..block]);
            }
            if i < indexed {
                let these = i * count..(i + 1) * count;
                rows.write(out, &indices[these.clone()], &source[these], put)?;
            }
        }
        Ok(())
    };
    parallel_for(blocks, block / 8 + count, Items(&mut out, block), &work)?;
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
    reduce_into(ReduceOp::Sum, "scatter_add", x, dim, [index, source])
}

pub(super) fn scatter_reduce(
    op: ReduceOp,
    x: Operand,
    dim: usize,
    index: &Operand,
    source: &Operand,
) -> Result<Storage> {
    reduce_into(op, "scatter_reduce", x, dim, [index, source])
}

fn reduce_into(
    op: ReduceOp,
    name: &'static str,
    x: Operand,
    dim: usize,
    [index, source]: [&Operand; 2],
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

#[cfg(test)]
mod tests;
