//! Max pooling and its gradient.

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::aligned_vec::AlignedVec;
use super::float::Float;
use super::map::{self, FloatKernel, run_float};
use super::max_loops::Offset;
use super::max_passes::{Passes, SIDE_BY_SIDE, SideBySide, SmallPasses};
use super::memory::scratch;
use super::number::Number;
use super::pool_windows::{self, Windows};
use super::threads::{Items, parallel_for};
use super::view::to_row_major;
use super::{CpuStorage, Operand, PoolGeometry, Storage};
use crate::zip::zip;
use crate::{DType, Result, Shape, ShapeError};

/// The greatest elements.
pub(super) fn max_pool(x: &Operand, geometry: &PoolGeometry) -> Result<Storage> {
    let pool = MaxPool::new(geometry)?;
    let dtype = x.storage.dtype();
    let x = map::widened(x)?;
    let (maxima, _) = match x.storage.dtype() {
        DType::F32 => pool.run::<f32, ()>(&x)?,
        DType::F64 => pool.run::<f64, ()>(&x)?,
        DType::I64 => pool.run::<i64, ()>(&x)?,
        _ => return Err(dtype.error("max_pool", "another dtype")),
    };
    narrowed(maxima, dtype)
}

/// The greatest elements and their indices.
pub(super) fn max_pool_with_indices(
    x: &Operand,
    geometry: &PoolGeometry,
) -> Result<(Storage, Storage)> {
    let pool = MaxPool::new(geometry)?;
    let dtype = x.storage.dtype();
    let x = map::widened(x)?;
    let (maxima, positions) = match x.storage.dtype() {
        // Offsets as wide as the elements fill vectors best.
        DType::F32 if u32::try_from(pool.passes.reach()).is_ok() => pool.run::<f32, u32>(&x)?,
        DType::F32 => pool.run::<f32, i64>(&x)?,
        DType::F64 => pool.run::<f64, i64>(&x)?,
        DType::I64 => pool.run::<i64, i64>(&x)?,
        _ => return Err(dtype.error("max_pool", "another dtype")),
    };
    Ok((narrowed(maxima, dtype)?, CpuStorage::wrap(positions)))
}

/// The maxima in the dtype of the input.
fn narrowed(maxima: Storage, dtype: DType) -> Result<Storage> {
    match maxima.dtype() == dtype {
        true => Ok(maxima),
        false => map::narrowed(maxima, dtype),
    }
}

struct MaxPool {
    passes: Passes,
    /// Those of small planes, side by side.
    side_by_side: Option<SmallPasses>,
    /// The number of planes, and those of their elements before and after.
    planes: usize,
    input: usize,
    output: usize,
}

impl MaxPool {
    fn new(geometry: &PoolGeometry) -> Result<Self> {
        let windows = pool_windows::windows(geometry)?;
        // Fewer than three spatial dimensions are padded with dimensions of size 1.
        let single = Windows::single();
        let mut three = [&single; 3];
        // Without planes or windows the product of other sizes may exceed the machine's numbers.
        let is_empty = geometry.input.contains(&0) || geometry.output.contains(&0);
        if !is_empty {
            let start = 3_usize.saturating_sub(windows.len());
            for (to, from) in three[start..].iter_mut().zip(&windows) {
                *to = from;
            }
        }
        let [depths, heights, widths] = three;
        let planes = count(&geometry.output, 0..2);
        let input = count(&geometry.input, 2..geometry.input.rank());
        let output = count(&geometry.output, 2..geometry.output.rank());
        let small = planes >= SIDE_BY_SIDE && input.max(output) <= SMALL;
        Ok(Self {
            passes: Passes::new(depths, heights, widths),
            side_by_side: small.then(|| SmallPasses::new(depths, heights, widths)),
            planes,
            input,
            output,
        })
    }

    /// The maxima, and their positions unless offsets are nothing.
    fn run<T: Number, O: Offset>(&self, x: &Operand) -> Result<(Storage, AlignedVec<i64>)> {
        let values = to_row_major::<T>(x)?;
        let len = self.planes * self.output;
        let places_of_plane = if size_of::<O>() == 0 { 0 } else { self.output };
        let mut maxima = scratch::<T>(len)?;
        let mut positions = scratch::<i64>(self.planes * places_of_plane)?;
        if len == 0 || values.is_empty() {
            return Ok((CpuStorage::wrap(maxima), positions));
        }
        let out = (
            Items(&mut maxima, self.output),
            Items(&mut positions, places_of_plane),
        );
        let plane_ns = self.input / 2 + self.output;
        parallel_for(self.planes, plane_ns, out, &|planes, mut out| {
            let mut done = 0;
            if let Some(passes) = &self.side_by_side {
                let mut small = SideBySide::<T, O>::new(passes)?;
                while planes.len() - done >= SIDE_BY_SIDE {
                    let (first, count) = (planes.start + done, SIDE_BY_SIDE);
                    let values = &values[first * self.input..][..count * self.input];
                    let maxima = &mut out.0.0[done * self.output..][..count * self.output];
                    let positions = &mut out.1.0[done * places_of_plane..];
                    let positions = &mut positions[..count * places_of_plane];
                    small.run(values, maxima, positions);
                    done += SIDE_BY_SIDE;
                }
            }
            let mut scratch = self.passes.scratch::<T, O>()?;
            for (i, plane) in planes.enumerate().skip(done) {
                let plane = &values[plane * self.input..][..self.input];
                let (maxima, positions) = (out.0.at(i), out.1.at(i));
                self.passes.run(plane, &mut scratch, maxima, positions);
            }
            Ok(())
        })?;
        Ok((CpuStorage::wrap(maxima), positions))
    }
}

/// Planes of at most so many elements are processed side by side.
const SMALL: usize = 256;

/// The number of elements along some dimensions, or 0 if there is none in the whole shape.
fn count(shape: &Shape, dims: Range<usize>) -> usize {
    match shape.contains(&0) {
        true => 0,
        false => shape[dims].iter().product(),
    }
}

/// The gradients of maxima, added where they came from.
pub(super) fn max_pool_backward(
    grad: &Operand,
    indices: &Operand,
    geometry: &PoolGeometry,
) -> Result<Storage> {
    let backward = Backward {
        grad,
        indices,
        geometry,
    };
    run_float(grad.storage.dtype(), backward)
}

struct Backward<'a> {
    grad: &'a Operand,
    indices: &'a Operand,
    geometry: &'a PoolGeometry,
}

impl FloatKernel for Backward<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "max_pool_backward"
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let (grad, indices) = (
            to_row_major::<T>(self.grad)?,
            to_row_major::<i64>(self.indices)?,
        );
        let PoolGeometry { input, output, .. } = self.geometry;
        let planes = count(input, 0..2);
        let [input, output] = [input, output].map(|shape| count(shape, 2..shape.rank()));
        let mut out = scratch::<T>(planes * input)?;
        let items = Items(&mut out, input);
        parallel_for(planes, input / 8 + output, items, &|planes, mut out| {
            for (i, plane) in planes.enumerate() {
                let sums = out.at(i);
                // Filled plane by plane, so that it is near when it is added to.
                sums.fill(T::zero());
                let range = plane * output..(plane + 1) * output;
                for (&index, &v) in zip(&indices[range.clone()], &grad[range]) {
                    // A negative number becomes a large one.
                    let Some(sum) = sums.get_mut(index as usize) else {
                        let (op, size) = ("max_pool_backward", input);
                        return Err(ShapeError::Index { op, index, size }.into());
                    };
                    *sum = sum.plus(v);
                }
            }
            Ok(())
        })?;
        Ok(CpuStorage::wrap(out))
    }
}
