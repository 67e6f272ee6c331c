//! Indices of nonzero elements.

use super::view::to_row_major;
use super::{CpuStorage, Operand, Storage, check_allocatable};
use crate::Result;

/// The indices of the nonzero elements, `[count, rank]`, and their count.
pub(super) fn nonzero(mask: &Operand) -> Result<(Storage, usize)> {
    let chosen = to_row_major::<bool>(mask)?;
    let shape = mask.layout.shape();
    let count = chosen.iter().filter(|chosen| **chosen).count();
    let len = count.saturating_mul(shape.rank());
    check_allocatable::<i64>(len)?;
    let mut indices = Vec::with_capacity(len);
    let all = chosen.iter().enumerate().filter(|(_, chosen)| **chosen);
    match shape.rank() {
        0 => {}
        1 => indices.extend(all.map(|(index, _)| index as i64)),
        _ => all.for_each(|(index, _)| {
            let start = indices.len();
            let mut rest = index;
            for &size in shape.iter().rev() {
                indices.push((rest % size) as i64);
                rest /= size;
            }
            if let Some(row) = indices.get_mut(start..) {
                row.reverse();
            }
        }),
    }
    Ok((CpuStorage::wrap(indices), count))
}
