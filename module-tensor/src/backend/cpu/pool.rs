//! Max pooling.

use std::ops::Range;

use super::number::Convert;
use super::pool_windows::{self, Windows};
use super::view::to_cow;
use super::{CpuStorage, Operand, PoolGeometry, Storage, check_allocatable};
use crate::Result;

/// The greatest elements and their indices.
pub(super) fn max_pool<T: Convert + PartialOrd>(
    x: &Operand,
    geometry: &PoolGeometry,
) -> Result<(Storage, Storage)> {
    let values = to_cow::<T>(x)?;
    let windows = pool_windows::windows(geometry)?;
    // Fewer than three spatial dimensions are padded with dimensions of size 1.
    let one = Windows {
        size: 1,
        step: 1,
        ranges: std::iter::once(0..1).collect(),
    };
    let mut three = [&one; 3];
    let start = 3_usize.saturating_sub(windows.len());
    for (to, from) in three[start..].iter_mut().zip(&windows) {
        *to = from;
    }
    let [depths, heights, widths] = three;
    let len = geometry.output.numel();
    check_allocatable::<T>(len)?;
    check_allocatable::<i64>(len)?;
    let (mut out, mut indices) = (Vec::with_capacity(len), Vec::with_capacity(len));
    // An empty output has no windows, whatever the planes are.
    let plane = depths.size * heights.size * widths.size;
    if len == 0 || plane == 0 {
        return Ok((CpuStorage::wrap(out), CpuStorage::wrap(indices)));
    }
    for plane in values.chunks_exact(plane) {
        for depth in &depths.ranges {
            for height in &heights.ranges {
                for width in &widths.ranges {
                    let start = depth.start * heights.size + height.start;
                    let mut best = start * widths.size + width.start;
                    for z in depth.clone().step_by(depths.step) {
                        for y in height.clone().step_by(heights.step) {
                            let line = (z * heights.size + y) * widths.size;
                            best = max_of_line(
                                plane,
                                line + width.start..line + width.end,
                                widths.step,
                                best,
                            );
                        }
                    }
                    out.push(plane[best]);
                    indices.push(best as i64);
                }
            }
        }
    }
    Ok((CpuStorage::wrap(out), CpuStorage::wrap(indices)))
}

/// The index of the first greatest element, or of the last NaN, as in PyTorch, among every `step`-th element
/// of a line and the element at `best`.
///
/// Which element is greater is unpredictable, so it is selected without a branch.
#[inline]
fn max_of_line<T: Copy + PartialOrd>(
    plane: &[T],
    line: Range<usize>,
    step: usize,
    mut best: usize,
) -> usize {
    let mut index = line.start;
    while index < line.end {
        let v = plane[index];
        // Only NaN differs from itself.
        #[allow(clippy::eq_op)]
        let better = (v > plane[best]) | (v != v);
        best = if better { index } else { best };
        index = index.saturating_add(step);
    }
    best
}
