//! Sums over neighbors along one dimension after another: average pooling, interpolation and their
//! gradients.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use super::aligned_vec::Workspace;
use super::float::Float;
use super::map::{FloatKernel, run_float};
use super::memory::{filled, scratch};
use super::plane_means::PlaneMeans;
use super::resample_axis::{ResampleAxis, for_direction};
use super::sum_passes::SumPass;
use super::threads::{Items, parallel_for};
use super::view::to_row_major;
use super::{
    CpuStorage, LinearOp, Operand, PoolDivisor, PoolGeometry, ResampleGeometry, Storage,
    check_allocatable,
};
use super::{pool_windows, resample_axes};
use crate::{Result, Shape};

/// Average pooling.
pub(super) fn avg_pool(
    op: LinearOp,
    x: &Operand,
    geometry: &PoolGeometry,
    divisor: PoolDivisor,
) -> Result<Storage> {
    let dtype = x.storage.dtype();
    let axes = pool_windows::averages(geometry, divisor)?;
    if let Some((size, divisor)) = ResampleAxis::whole_mean(&axes).filter(|(size, _)| *size > 0) {
        let means = PlaneMeans {
            op,
            x,
            size,
            divisor,
        };
        return run_float(dtype, means);
    }
    let axes = for_direction(op, axes);
    run_float(dtype, Resample { x, axes: &axes })
}

/// Resizes images.
pub(super) fn resample(op: LinearOp, x: &Operand, geometry: &ResampleGeometry) -> Result<Storage> {
    let dtype = x.storage.dtype();
    let axes = for_direction(op, resample_axes::axes(geometry, dtype)?);
    run_float(dtype, Resample { x, axes: &axes })
}

/// The last dimensions of `x`, resampled along one axis each.
struct Resample<'a> {
    x: &'a Operand,
    axes: &'a [ResampleAxis],
}

impl FloatKernel for Resample<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "resample"
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let Self { x, axes } = self;
        let shape = x.layout.shape();
        let lead = shape.len().saturating_sub(axes.len());
        let sizes = axes.iter().map(|axis| axis.ranges.len());
        let out: Shape = shape[..lead].iter().copied().chain(sizes).collect();
        // Without elements the product of other sizes may exceed the machine's numbers.
        if out.contains(&0) || shape.contains(&0) {
            let numel = if out.contains(&0) { 0 } else { out.numel() };
            check_allocatable::<T>(numel)?;
            return Ok(CpuStorage::wrap(filled(numel, T::zero())?));
        }
        let planes: usize = shape[..lead].iter().product();
        let mut sizes = shape[lead..].to_vec();
        let mut passes = Vec::with_capacity(axes.len());
        for d in order(axes) {
            let [outer, inner] = [&sizes[..d], &sizes[d + 1..]].map(|x| x.iter().product());
            passes.push(SumPass::new(&axes[d], outer, inner));
            sizes[d] = axes[d].ranges.len();
        }
        let (values, plane) = (to_row_major::<T>(x)?, sizes.iter().product());
        check_allocatable::<T>(planes * plane)?;
        let mut out = scratch(planes * plane)?;
        let (input, room) = (
            values.len() / planes,
            passes.iter().map(SumPass::room).max(),
        );
        let room = room.unwrap_or(0);
        check_allocatable::<T>(room.saturating_mul(BLOCKS))?;
        let items = Items(&mut out, plane);
        parallel_for(planes, (input + plane) / 4, items, &|range, mut out| {
            let mut memory = Workspace::new();
            let memory = memory.of(room * BLOCKS);
            for (i, plane) in range.enumerate() {
                run_passes(
                    &passes,
                    &values[plane * input..][..input],
                    out.at(i),
                    memory,
                );
            }
            Ok(())
        })?;
        Ok(CpuStorage::wrap(out))
    }
}

/// The number of blocks of memory for one plane on the way: two that passes read and write by turns, and those of
/// a pass.
const BLOCKS: usize = 7;

/// One pass after the other, over a plane.
fn run_passes<T: Float>(passes: &[SumPass<T>], plane: &[T], out: &mut [T], memory: &mut [T]) {
    let mut blocks = memory.chunks_exact_mut((memory.len() / BLOCKS).max(1));
    let mut block = || blocks.next().unwrap_or_default();
    let (mut from, mut to) = (block(), block());
    let mut room = [block(), block(), block(), block(), block()];
    for (i, pass) in passes.iter().enumerate() {
        let source = if i == 0 { plane } else { &from[..pass.input()] };
        let target = match i + 1 == passes.len() {
            true => &mut *out,
            false => &mut to[..pass.output()],
        };
        pass.run(source, target, room.each_mut().map(|block| &mut **block));
        std::mem::swap(&mut from, &mut to);
    }
}

/// The order of the axes: first those that shrink, from the outermost, then those that grow, from the
/// innermost. The pass along the last dimension, which handles single elements, then has few of them.
fn order(axes: &[ResampleAxis]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..axes.len()).collect();
    let grows = |d: usize| axes[d].ranges.len() > axes[d].size;
    order.sort_by(|&a, &b| match (grows(a), grows(b)) {
        (false, false) => a.cmp(&b),
        (true, true) => b.cmp(&a),
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
    });
    order
}
