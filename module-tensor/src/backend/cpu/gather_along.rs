//! Copies in which each dimension has an order of its own.

use super::dispatch::dispatch_moved;
use super::map::{NumberKernel, by_width, run_number, through_wide};
use super::memory::{filled, vec_with_capacity};
use super::number::Number;
use super::view::to_cow;
use super::{
    CpuStorage, Element, GatherAlongGeometry, GatherDim, LinearOp, Operand, Storage,
    check_allocatable,
};
use crate::Result;
use crate::layout::Layout;
use crate::zip::zip_mut;

/// What is copied: for each row of the result where it begins in the tensor, and within a row stretches
/// of memory. The dimensions that stay as they are at the end belong to the stretches.
struct Plan {
    starts: Vec<usize>,
    /// Where a stretch begins in a row of the tensor, and its length.
    stretches: Vec<(usize, usize)>,
    numel: usize,
}

impl Plan {
    /// The plan for an output that is not empty.
    fn new(geometry: &GatherAlongGeometry) -> Result<Self> {
        let shape = &geometry.input;
        let places = places(geometry)?;
        let layout = Layout::contiguous(shape.clone());
        let same = |d: &usize| places[*d].iter().copied().eq(0..shape[*d]);
        let rows = (0..places.len()).rev().find(|d| !same(d)).unwrap_or(0);
        let mut starts = vec![0];
        for (order, stride) in places.iter().zip(layout.strides()).take(rows) {
            check_allocatable::<usize>(starts.len().saturating_mul(order.len()))?;
            let next = starts.iter().flat_map(|start| {
                let along = order.iter();
                along.map(move |place| start + place * stride)
            });
            starts = next.collect();
        }
        let mut stretches: Vec<(usize, usize)> = Vec::new();
        let inner = layout.strides().get(rows).copied().unwrap_or(1);
        for place in places.get(rows).map_or(&[0][..], Vec::as_slice) {
            match stretches.last_mut() {
                Some((start, length)) if *start + *length == place * inner => *length += inner,
                _ => stretches.push((place * inner, inner)),
            }
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

    /// Whether stretches are so short that a loop over each costs more than its elements.
    fn is_scattered(&self) -> bool {
        let first = self.stretches.iter().take(4);
        self.stretches.len() > 8 && first.map(|(_, length)| length).sum::<usize>() <= 8
    }
}

/// For each dimension of the output, up to the last that is not as it was, the places of the input.
fn places(geometry: &GatherAlongGeometry) -> Result<Vec<Vec<usize>>> {
    let changed = geometry
        .dims
        .iter()
        .rposition(|dim| *dim != GatherDim::Same);
    let dims = geometry.input.iter().zip(&geometry.dims);
    let places = dims.take(changed.unwrap_or(0) + 1).map(|(&size, dim)| {
        check_allocatable::<usize>(dim.len(size))?;
        Ok(match dim {
            // Without a choice for each place.
            GatherDim::Same => (0..size).collect(),
            GatherDim::Flip => (0..size).rev().collect(),
            _ => dim.places(size).collect(),
        })
    });
    places.collect()
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
    let values = to_cow::<T>(x)?;
    check_allocatable::<T>(plan.numel)?;
    let mut out = vec_with_capacity(plan.numel)?;
    if plan.is_scattered() && plan.stretches.iter().all(|(_, length)| *length == 1) {
        for start in &plan.starts {
            let row = &values[*start..];
            out.extend(plan.stretches.iter().map(|(from, _)| row[*from]));
        }
    } else {
        plan.for_each(|from, length| match length {
            1 => out.push(values[from]),
            _ => out.extend_from_slice(&values[from..from + length]),
        });
    }
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
        let values = to_cow::<T>(&x)?;
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
