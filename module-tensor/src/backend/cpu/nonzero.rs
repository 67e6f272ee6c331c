//! Places of true elements.

use super::view::to_cow;
use super::{CpuStorage, Operand, Storage, check_allocatable};
use crate::Result;

/// `[count, rank]` places and their count.
pub(super) fn nonzero(mask: &Operand) -> Result<(Storage, usize)> {
    let chosen = to_cow::<bool>(mask)?;
    let shape = mask.layout.shape();
    let count = chosen.iter().filter(|chosen| **chosen).count();
    let len = count.saturating_mul(shape.rank());
    check_allocatable::<i64>(len)?;
    let mut places = Vec::with_capacity(len);
    let all = chosen.iter().enumerate().filter(|(_, chosen)| **chosen);
    match shape.rank() {
        0 => {}
        1 => places.extend(all.map(|(place, _)| place as i64)),
        _ => all.for_each(|(place, _)| {
            let start = places.len();
            let mut rest = place;
            for &size in shape.iter().rev() {
                places.push((rest % size) as i64);
                rest /= size;
            }
            if let Some(row) = places.get_mut(start..) {
                row.reverse();
            }
        }),
    }
    Ok((CpuStorage::wrap(places), count))
}
