//! Reading and writing by index, and joining.

use super::map::{NumberKernel, run_number};
use super::number::Number;
use super::view::{to_cow, to_vec};
use super::{CpuStorage, Element, Operand, Storage, room};
use crate::layout::Shape;
use crate::{ErrorKind, Result};

/// A tensor as `[outer, size, inner]` around one dimension.
struct Split {
    outer: usize,
    size: usize,
    inner: usize,
}

impl Split {
    fn new(shape: &Shape, dim: usize) -> Self {
        Self {
            outer: shape[..dim].iter().product(),
            size: shape[dim],
            inner: shape[dim + 1..].iter().product(),
        }
    }
}

/// Calls `f` with the place in the index tensor and the place in `x` that it names.
///
/// Other dimensions than `dim` of the index may be shorter than those of `x`.
fn for_each_indexed(
    op: &'static str,
    x: &Shape,
    dim: usize,
    index: &Shape,
    places: &[i64],
    mut f: impl FnMut(usize, usize),
) -> Result<()> {
    let size = x[dim];
    let strides = crate::layout::Layout::contiguous(x.clone());
    let strides = strides.strides();
    let mut position = vec![0_usize; index.rank()];
    for (i, &place) in places.iter().enumerate() {
        let place = usize::try_from(place)
            .ok()
            .filter(|&place| place < size)
            .ok_or(ErrorKind::Index {
                op,
                index: place,
                size,
            })?;
        let mut target = place * strides[dim];
        for (d, &p) in position.iter().enumerate() {
            if d != dim {
                target += p * strides[d];
            }
        }
        f(i, target);
        for d in (0..position.len()).rev() {
            position[d] += 1;
            if position[d] < index[d] {
                break;
            }
            position[d] = 0;
        }
    }
    Ok(())
}

pub(super) fn gather<T: Element>(x: &Operand, dim: usize, index: &Operand) -> Result<Storage> {
    let (values, places) = (to_cow::<T>(x)?, to_cow::<i64>(index)?);
    let (shape, index) = (x.layout.shape(), index.layout.shape());
    room::<T>(places.len())?;
    let mut out = vec![T::default(); places.len()];
    for_each_indexed("gather", shape, dim, index, &places, |i, target| {
        out[i] = values[target]
    })?;
    Ok(CpuStorage::wrap(out))
}

pub(super) fn scatter_add(
    x: &Operand,
    dim: usize,
    index: &Operand,
    source: &Operand,
) -> Result<Storage> {
    run_number(
        x.storage.dtype(),
        ScatterAdd {
            x,
            dim,
            index,
            source,
        },
    )
}

struct ScatterAdd<'a> {
    x: &'a Operand,
    dim: usize,
    index: &'a Operand,
    source: &'a Operand,
}

impl NumberKernel for ScatterAdd<'_> {
    const NAME: &'static str = "scatter_add";
    type Output = Storage;

    fn run<T: Number>(self) -> Result<Storage> {
        let Self {
            x,
            dim,
            index,
            source,
        } = self;
        let mut out = to_vec::<T>(x)?;
        let (places, values) = (to_cow::<i64>(index)?, to_cow::<T>(source)?);
        let (shape, index) = (x.layout.shape(), index.layout.shape());
        for_each_indexed(Self::NAME, shape, dim, index, &places, |i, target| {
            out[target] = out[target].plus(values[i]);
        })?;
        Ok(CpuStorage::wrap(out))
    }
}

pub(super) fn cat<T: Element>(parts: &[Operand], dim: usize) -> Result<Storage> {
    let mut columns = Vec::with_capacity(parts.len());
    for part in parts {
        columns.push((Split::new(part.layout.shape(), dim), to_cow::<T>(part)?));
    }
    let outer = columns.first().map_or(0, |(split, _)| split.outer);
    let total = columns.iter().map(|(_, values)| values.len()).sum();
    if total == 0 {
        // Without elements there may still be any number of rows.
        return Ok(CpuStorage::wrap(Vec::<T>::new()));
    }
    room::<T>(total)?;
    let mut out = Vec::with_capacity(total);
    for i in 0..outer {
        for (Split { size, inner, .. }, values) in &columns {
            let width = size * inner;
            out.extend_from_slice(&values[i * width..(i + 1) * width]);
        }
    }
    Ok(CpuStorage::wrap(out))
}
