//! Copies in which each dimension is indexed by a function of its own: flips and padding.

#[cfg(test)]
mod tests;
mod together;

use super::dispatch::dispatch_moved;
use super::joined_runs::next;
use super::map::{NumberKernel, by_width, run_number, through_wide};
use super::memory::{filled, scratch};
use super::number::Number;
use super::threads::{Items, parallel_for};
use super::view::to_row_major;
use super::{
    CpuStorage, Element, GatherAlongGeometry, GatherDim, LinearOp, Operand, Storage,
    check_allocatable,
};
use crate::Result;
use crate::layout::Layout;
use crate::zip::zip_mut;

use together::{PIECE, copy_together};

/// The memory that is copied: for each row of the result its start in the tensor, and within a row contiguous
/// stretches. The last dimensions, if they are unchanged, belong to the stretches.
struct Plan {
    starts: Vec<usize>,
    /// The start of a stretch in a row of the tensor, and its length.
    stretches: Vec<(usize, usize)>,
    /// The number of elements of a row of the result.
    width: usize,
    way: Way,
}

/// The maximum number of elements of a row that is copied together with others: a stretch of each, then the next one of each.
const SHORT: usize = 64;

/// The number of elements from which reversed rows are not.
const REVERSED: usize = 8;

/// How rows are copied.
#[derive(Clone, Copy)]
enum Way {
    /// Pieces of many rows, then the next pieces.
    Together,
    /// Row by row, from the last element to the first.
    Reversed,
    /// Row by row, element by element.
    Scattered,
    /// Row by row, stretch by stretch.
    Stretches,
}

impl Way {
    /// The fastest way. Pieces of many rows are copied faster than each row, except that a loop over a reversed row makes vectors
    /// of more than a few elements, and that a call for a stretch takes as long as two pieces.
    fn new(stretches: &[(usize, usize)], width: usize, are_reversed: bool) -> Self {
        let pieces = |(_, length): &(usize, usize)| length.div_ceil(PIECE);
        let (way, together) = if are_reversed {
            (Self::Reversed, width < REVERSED)
        } else if stretches.iter().all(|(_, length)| *length == 1) {
            (Self::Scattered, true)
        } else {
            let pieces = stretches.iter().map(pieces).sum::<usize>();
            (Self::Stretches, pieces < 2 * stretches.len())
        };
        match together && width <= SHORT {
            true => Self::Together,
            false => way,
        }
    }
}

impl Plan {
    /// The plan for an output that is not empty.
    fn new(geometry: &GatherAlongGeometry) -> Result<Self> {
        let shape = &geometry.input;
        let sizes = geometry.dims.iter().zip(shape.iter());
        let dims = sizes
            .map(|(&dim, &size)| Indices::new(dim, size))
            .collect::<Result<Vec<_>>>()?;
        let layout = Layout::contiguous(shape.clone());
        let same = |d: &usize| dims[*d].are_all_in_order(shape[*d]);
        let last = (0..dims.len()).rev().find(|d| !same(d)).unwrap_or(0);
        let inner = layout.strides().get(last).copied().unwrap_or(1);
        let (rows, stretches) = match dims.get(last) {
            None => (0, vec![(0, 1)]),
            // Rows of their own, which are copied together.
            Some(Indices::Reversed(_)) if (2..PIECE).contains(&inner) => {
                (last + 1, vec![(0, inner)])
            }
            Some(indices) => (last, indices.stretches(inner)?),
        };
        let are_reversed = inner == 1 && matches!(dims.get(last), Some(Indices::Reversed(_)));
        let mut starts = vec![0];
        for (d, &stride) in layout.strides().iter().enumerate().take(rows) {
            let length = starts.len().saturating_mul(geometry.output[d]);
            check_allocatable::<usize>(length)?;
            let mut next = Vec::with_capacity(length);
            for &start in &starts {
                dims[d].extend_starts(start, stride, &mut next);
            }
            starts = next;
        }
        let width = stretches.iter().map(|(_, length)| length).sum();
        Ok(Self {
            way: Way::new(&stretches, width, are_reversed),
            starts,
            stretches,
            width,
        })
    }

    /// Calls `f` with each stretch of the tensor, in the order of the result.
    fn for_each(&self, mut f: impl FnMut(usize, usize)) {
        for start in &self.starts {
            for (from, length) in &self.stretches {
                f(start + from, *length);
            }
        }
    }

    /// Copies rows with these starts.
    fn copy_rows<T: Element>(&self, starts: &[usize], values: &[T], out: &mut [T]) {
        let (width, stretches) = (self.width, &self.stretches[..]);
        let rows = starts.iter().map(|&start| &values[start..]);
        let rows = rows.zip(out.chunks_exact_mut(width));
        match self.way {
            Way::Together => copy_together(starts, stretches, width, values, out),
            Way::Reversed => rows.for_each(|(values, out)| {
                let row = values[..width].iter().rev();
                out.iter_mut().zip(row).for_each(|(out, v)| *out = *v);
            }),
            Way::Scattered => rows.for_each(|(values, out)| {
                for (out, (from, _)) in zip_mut(out, stretches) {
                    *out = values[*from];
                }
            }),
            Way::Stretches => rows.for_each(|(values, mut out)| {
                for &(from, length) in stretches {
                    next(&mut out, length).copy_from_slice(&values[from..from + length]);
                }
            }),
        }
    }
}

/// The indices along a dimension, in the order of the result.
enum Indices {
    /// Stretches of ascending ones: the first and their number.
    Stretches(Vec<(usize, usize)>),
    /// All of so many elements, from the last to the first.
    Reversed(usize),
}

impl Indices {
    fn new(dim: GatherDim, size: usize) -> Result<Self> {
        Ok(Self::Stretches(match dim {
            GatherDim::Flip => return Ok(Self::Reversed(size)),
            GatherDim::Same => vec![(0, size)],
            // The elements from the end, the middle, and those from the beginning.
            GatherDim::Circular { before, after } => {
                let size = size as isize;
                let (from, to) = (before.saturating_neg(), size.saturating_add(after));
                [-size, 0, size]
                    .map(|start| (from.max(start), to.min(start.saturating_add(size)), start))
                    .into_iter()
                    .filter(|(from, to, _)| from < to)
                    .map(|(from, to, start)| ((from - start) as usize, (to - from) as usize))
                    .collect()
            }
            _ => {
                check_allocatable::<[usize; 2]>(dim.len(size))?;
                let mut joined: Vec<(usize, usize)> = Vec::new();
                for index in dim.source_indices(size) {
                    match joined.last_mut() {
                        Some((start, length)) if *start + *length == index => *length += 1,
                        _ => joined.push((index, 1)),
                    }
                }
                joined
            }
        }))
    }

    fn are_all_in_order(&self, size: usize) -> bool {
        matches!(self, Self::Stretches(all) if *all == [(0, size)])
    }

    /// Adds the places of elements that lie `stride` apart from `start` on.
    fn extend_starts(&self, start: usize, stride: usize, starts: &mut Vec<usize>) {
        let place = |index: usize| start + index * stride;
        match self {
            Self::Reversed(size) => starts.extend((0..*size).rev().map(place)),
            Self::Stretches(all) => {
                for &(from, length) in all {
                    starts.extend((from..from + length).map(place));
                }
            }
        }
    }

    /// The stretches of what lies at the indices, of `inner` elements each: the first and their number.
    fn stretches(&self, inner: usize) -> Result<Vec<(usize, usize)>> {
        Ok(match self {
            Self::Reversed(size) => {
                check_allocatable::<[usize; 2]>(*size)?;
                // Without a branch for each index.
                let indices = (0..*size).rev();
                indices.map(|index| (index * inner, inner)).collect()
            }
            Self::Stretches(all) => {
                let all = all.iter();
                all.map(|(from, length)| (from * inner, length * inner))
                    .collect()
            }
        })
    }
}

pub(super) fn gather_along(
    op: LinearOp,
    x: Operand,
    geometry: &GatherAlongGeometry,
) -> Result<Storage> {
    match op {
        LinearOp::Forward => by_width(
            [x],
            |[x]| dispatch_moved!("take", x.storage.dtype(), T => forward::<T>(&x, geometry)),
        ),
        LinearOp::Backward => through_wide([x], |[x]| {
            run_number(x.storage.dtype(), Backward { x, geometry })
        }),
    }
}

fn forward<T: Element>(x: &Operand, geometry: &GatherAlongGeometry) -> Result<Storage> {
    if geometry.output.numel() == 0 {
        return Ok(CpuStorage::wrap(Vec::<T>::new()));
    }
    let plan = Plan::new(geometry)?;
    let values = to_row_major::<T>(x)?;
    let (rows, width) = (plan.starts.len(), plan.width);
    check_allocatable::<T>(rows.saturating_mul(width))?;
    let mut out = scratch(rows * width)?;
    let parts = Items(&mut out, width);
    parallel_for(rows, width, parts, &|range, Items(out, _)| {
        plan.copy_rows(&plan.starts[range], &values, out);
        Ok(())
    })?;
    Ok(CpuStorage::wrap(out))
}

struct Backward<'a> {
    x: Operand,
    geometry: &'a GatherAlongGeometry,
}

impl NumberKernel for Backward<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "flip"
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self { x, geometry } = self;
        let numel = geometry.input.numel();
        check_allocatable::<T>(numel)?;
        let mut out = filled(numel, T::zero())?;
        if geometry.output.numel() == 0 {
            return Ok(CpuStorage::wrap(out));
        }
        let plan = Plan::new(geometry)?;
        let values = to_row_major::<T>(&x)?;
        let mut rest = &*values;
        plan.for_each(|to, length| {
            let (stretch, after) = rest.split_at(length);
            rest = after;
            for (slot, &v) in zip_mut(&mut out[to..to + length], stretch) {
                *slot = slot.plus(v);
            }
        });
        Ok(CpuStorage::wrap(out))
    }
}
