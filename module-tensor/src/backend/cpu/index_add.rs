//! Rows that are added by index.

use super::checked_indices::checked_indices;
use super::index::Split;
use super::map::{NumberKernel, run_number};
use super::number::Number;
use super::threads::{Items, parallel_for};
use super::view::{into_vec, to_change, to_row_major};
use super::{CpuStorage, Operand, Storage};
use crate::Result;
use crate::zip::zip_mut;

/// The number of stretches that rows are cut into, which threads share.
const STRETCHES: usize = 64;

pub(super) fn index_add(
    x: Operand,
    dim: usize,
    index: &Operand,
    source: &Operand,
) -> Result<Storage> {
    run_number(x.storage.dtype(), IndexAdd(x, dim, index, source))
}

struct IndexAdd<'a>(Operand, usize, &'a Operand, &'a Operand);

impl NumberKernel for IndexAdd<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "index_add"
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(mut x, dim, index, source) = self;
        let Split { size, inner, .. } = Split::new(x.layout.shape(), dim);
        let indices = checked_indices("index_add", index, size)?;
        let values = to_row_major::<T>(source)?;
        if values.is_empty() {
            return Ok(CpuStorage::wrap(into_vec::<T>(x)?));
        }
        let (mut out, shared) = to_change::<T>(&mut x)?;
        let block = size * inner;
        let blocks = out.chunks_exact_mut(block);
        for (i, (out, values)) in blocks
            .zip(values.chunks_exact(indices.len() * inner))
            .enumerate()
        {
            let shared = shared.map(|shared| &shared[i * block..][..block]);
            add_rows(out, shared, inner, &indices, values)?;
        }
        Ok(CpuStorage::wrap(out))
    }
}

/// Adds rows of `inner` elements to those with the indices, in order. Each thread adds what goes to its rows, after copying
/// these from `shared`, if there is one.
fn add_rows<T: Number>(
    rows: &mut [T],
    shared: Option<&[T]>,
    inner: usize,
    indices: &[i64],
    values: &[T],
) -> Result<()> {
    let stretch = (rows.len() / inner).div_ceil(STRETCHES);
    let stretches = (rows.len() / inner).div_ceil(stretch);
    let stretch_ns = values.len().div_ceil(4 * stretches) + stretch * inner / 8;
    let rows = Items(rows, stretch * inner);
    parallel_for(stretches, stretch_ns, rows, &|range, Items(rows, _)| {
        let first = range.start * stretch;
        if let Some(shared) = shared {
            rows.copy_from_slice(&shared[first * inner..][..rows.len()]);
        }
        // The indices were checked.
        for (index, row) in indices.iter().zip(values.chunks_exact(inner)) {
            let at = (*index as usize).wrapping_sub(first).saturating_mul(inner);
            if let Some(slots) = rows.get_mut(at..at.saturating_add(inner)) {
                for (slot, &v) in zip_mut(slots, row) {
                    *slot = slot.plus(v);
                }
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
