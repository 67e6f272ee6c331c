//! Means of whole planes, and their gradient: in a plane it is the same everywhere.

#[cfg(test)]
mod tests;

use super::float::Float;
use super::fold_lines::FoldLinesOf;
use super::lanes::{number, sum};
use super::map::FloatKernel;
use super::memory::scratch;
use super::simd::run_at_best_level;
use super::threads::{Items, parallel_for};
use super::view::to_row_major;
use super::{CpuStorage, LinearOp, Operand, Storage, check_allocatable};
use crate::Result;

/// Forward the sum of each plane of `size` elements, at least one, by the divisor; backward each number, divided, as
/// such a plane.
pub(super) struct PlaneMeans<'a> {
    pub(super) op: LinearOp,
    pub(super) x: &'a Operand,
    pub(super) size: usize,
    pub(super) divisor: f64,
}

impl FloatKernel for PlaneMeans<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "avg_pool"
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let Self {
            op,
            x,
            size,
            divisor,
        } = self;
        let (x, divisor) = (to_row_major::<T>(x)?, number::<T>(divisor));
        Ok(CpuStorage::wrap(match op {
            LinearOp::Forward => {
                let planes = x.len() / size;
                check_allocatable::<T>(planes)?;
                let mut means = scratch(planes)?;
                let items = Items(&mut means, 1);
                parallel_for(planes, 2 + size / 8, items, &|range, means| {
                    let planes = &x[range.start * size..range.end * size];
                    write_means(planes, size, divisor, means.0);
                    Ok(())
                })?;
                means
            }
            LinearOp::Backward => {
                let len = x.len().saturating_mul(size);
                check_allocatable::<T>(len)?;
                let mut planes = scratch(len)?;
                let items = Items(&mut planes, size);
                parallel_for(x.len(), 2 + size / 8, items, &|range, planes| {
                    for (plane, &v) in planes.0.chunks_exact_mut(size).zip(&x[range]) {
                        plane.fill(v / divisor);
                    }
                    Ok(())
                })?;
                planes
            }
        }))
    }
}

/// The number of elements from which a plane is summed on its own.
const LONG: usize = 512;

fn write_means<T: Float>(planes: &[T], size: usize, divisor: T, means: &mut [T]) {
    if size < LONG {
        run_at_best_level(FoldLinesOf {
            values: planes,
            count: size,
            f: |v| v,
            neutral: T::zero(),
            combine: T::plus,
            out: &mut *means,
        });
    } else {
        for (sum_of_plane, plane) in means.iter_mut().zip(planes.chunks_exact(size)) {
            *sum_of_plane = sum(plane);
        }
    }
    for mean in means {
        *mean = *mean / divisor;
    }
}
