//! Running sums and products.

use super::cast::cast;
use super::number::Number;
use super::threads::{Items, parallel_for};
use super::view::to_vec;
use super::{CpuStorage, Operand, Storage};
use crate::layout::Layout;
use crate::{DType, Result};

pub(super) fn cumsum(x: Operand, dim: usize, reverse: bool) -> Result<Storage> {
    scan("cumsum", x, dim, reverse, f64::plus, i64::plus)
}

pub(super) fn cumprod(x: Operand, dim: usize) -> Result<Storage> {
    scan("cumprod", x, dim, false, f64::times, i64::times)
}

/// Joins each element to the result before it; floating-point results run in `f64` and are rounded at
/// the end, as in PyTorch.
fn scan(
    op: &'static str,
    x: Operand,
    dim: usize,
    reverse: bool,
    floats: impl Fn(f64, f64) -> f64 + Sync,
    integers: impl Fn(i64, i64) -> i64 + Sync,
) -> Result<Storage> {
    let dtype = x.storage.dtype();
    match dtype {
        DType::F64 => running::<f64, _>(&x, dim, reverse, floats),
        DType::F32 => running::<f32, _>(&x, dim, reverse, floats),
        DType::I64 => running::<i64, _>(&x, dim, reverse, integers),
        DType::F16 | DType::BF16 => {
            let layout = Layout::contiguous(x.layout.shape().clone());
            let storage = cast(x, DType::F64)?;
            let wide = Operand {
                storage,
                layout: layout.clone(),
            };
            let storage = running::<f64, _>(&wide, dim, reverse, floats)?;
            cast(Operand { storage, layout }, dtype)
        }
        _ => Err(dtype.error(op, "a floating-point or int64 tensor")),
    }
}

/// A type with the one in which its results run.
trait Runs<W>: Number {
    fn widen(self) -> W;
    fn round(wide: W) -> Self;
}

impl Runs<f64> for f32 {
    #[inline]
    fn widen(self) -> f64 {
        f64::from(self)
    }

    #[inline]
    fn round(wide: f64) -> Self {
        wide as Self
    }
}

impl<T: Number> Runs<T> for T {
    #[inline]
    fn widen(self) -> T {
        self
    }

    #[inline]
    fn round(wide: T) -> Self {
        wide
    }
}

fn running<T: Runs<W>, W: Copy>(
    x: &Operand,
    dim: usize,
    reverse: bool,
    join: impl Fn(W, W) -> W + Sync,
) -> Result<Storage> {
    let shape = x.layout.shape();
    let inner: usize = shape[dim + 1..].iter().product();
    let mut values = to_vec::<T>(x)?;
    if values.is_empty() {
        return Ok(CpuStorage::wrap(values));
    }
    let block = shape[dim] * inner;
    let work = |_, Items(values, _): Items<'_, T>| {
        let mut results: Vec<W> = Vec::new();
        for block in values.chunks_exact_mut(block) {
            scan_block(block, inner, reverse, &mut results, &join);
        }
        Ok(())
    };
    let count = values.len() / block;
    parallel_for(count, block, Items(&mut values, block), &work)?;
    Ok(CpuStorage::wrap(values))
}

/// Scans rows of `inner` elements, one after the other; `results` is memory on the way.
fn scan_block<T: Runs<W>, W: Copy>(
    block: &mut [T],
    inner: usize,
    reverse: bool,
    results: &mut Vec<W>,
    join: &impl Fn(W, W) -> W,
) {
    if inner == 1 {
        return match reverse {
            true => scan_row(block.iter_mut().rev(), join),
            false => scan_row(block.iter_mut(), join),
        };
    }
    results.clear();
    let mut next = |row: &mut [T]| {
        if results.is_empty() {
            results.extend(row.iter().map(|v| v.widen()));
            return;
        }
        for (result, slot) in results.iter_mut().zip(row) {
            *result = join(*result, slot.widen());
            *slot = T::round(*result);
        }
    };
    let rows = block.chunks_exact_mut(inner);
    match reverse {
        true => rows.rev().for_each(&mut next),
        false => rows.for_each(&mut next),
    }
}

/// Scans one row.
fn scan_row<'a, T: Runs<W> + 'a, W: Copy>(
    mut row: impl Iterator<Item = &'a mut T>,
    join: &impl Fn(W, W) -> W,
) {
    let Some(first) = row.next() else { return };
    let mut result = first.widen();
    for slot in row {
        result = join(result, slot.widen());
        *slot = T::round(result);
    }
}
