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
    numel: usize,
}

/// The maximum number of elements of a row that is copied together with others: a stretch of each, then the next one of each.
const SHORT: usize = 64;

/// The number of elements from which reversed rows are not.
const REVERSED: usize = 8;

/// How the elements of a row lie in the tensor.
#[derive(Clone, Copy)]
enum Order {
    /// From the last element to the first.
    Reversed,
    /// Element by element.
    Scattered,
    /// Stretch by stretch.
    Stretches,
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
        let width: usize = stretches.iter().map(|(_, length)| length).sum();
        let numel = starts.len() * width;
        Ok(Self {
            starts,
            stretches,
            numel,
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

    fn order(&self) -> Order {
        let from = (0..self.stretches.len()).rev().map(|from| (from, 1));
        if self.stretches.iter().copied().eq(from) {
            return Order::Reversed;
        }
        match self.stretches.iter().all(|(_, length)| *length == 1) {
            true => Order::Scattered,
            false => Order::Stretches,
        }
    }

    /// Whether pieces of many rows are copied faster than each row: a loop over a reversed row makes vectors of more than a few
    /// elements, and a call for a stretch takes as long as two pieces.
    fn is_copied_together(&self, order: Order, width: usize) -> bool {
        let pieces = |(_, length): &(usize, usize)| length.div_ceil(PIECE);
        width <= SHORT
            && match order {
                Order::Reversed => width < REVERSED,
                Order::Scattered => true,
                Order::Stretches => {
                    self.stretches.iter().map(pieces).sum::<usize>() < 2 * self.stretches.len()
                }
            }
    }

    /// Copies rows of `width` elements with these starts.
    fn copy_rows<T: Element>(&self, starts: &[usize], width: usize, values: &[T], out: &mut [T]) {
        let order = self.order();
        if self.is_copied_together(order, width) {
            return copy_together(starts, &self.stretches, width, values, out);
        }
        for (&start, out) in starts.iter().zip(out.chunks_exact_mut(width)) {
            self.copy_row(order, &values[start..], out);
        }
    }

    /// Copies a row that starts at the first of the values.
    fn copy_row<T: Element>(&self, order: Order, values: &[T], out: &mut [T]) {
        match order {
            Order::Reversed => {
                let row = values[..out.len()].iter().rev();
                out.iter_mut().zip(row).for_each(|(out, v)| *out = *v);
            }
            Order::Scattered => {
                for (out, (from, _)) in zip_mut(out, &self.stretches) {
                    *out = values[*from];
                }
            }
            Order::Stretches => {
                let mut rest = out;
                for &(from, length) in &self.stretches {
                    next(&mut rest, length).copy_from_slice(&values[from..from + length]);
                }
            }
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
    let width = plan.numel / plan.starts.len();
    let values = to_row_major::<T>(x)?;
    check_allocatable::<T>(plan.numel)?;
    let mut out = scratch(plan.numel)?;
    parallel_for(
        plan.starts.len(),
        width,
        Items(&mut out, width),
        &|range, out| {
            plan.copy_rows(&plan.starts[range], width, &values, out.0);
            Ok(())
        },
    )?;
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
