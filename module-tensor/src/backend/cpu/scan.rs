//! Running sums and products, and running sums of exponentials.

use std::ops::Range;

use super::cast::cast;
use super::number::Number;
use super::threads::{Items, parallel_for};
use super::view::to_change;
use super::{CpuStorage, Operand, Storage};
use crate::layout::Layout;
use crate::{DType, Result};

pub(super) fn cumsum(x: Operand, dim: usize, reverse: bool) -> Result<Storage> {
    match x.storage.dtype() {
        DType::I64 => running::<i64, _, _>(x, dim, reverse, Join(0, i64::plus)),
        _ => floats("cumsum", x, dim, reverse, Join(0.0, f64::plus)),
    }
}

pub(super) fn cumprod(x: Operand, dim: usize) -> Result<Storage> {
    match x.storage.dtype() {
        DType::I64 => running::<i64, _, _>(x, dim, false, Join(1, i64::times)),
        _ => floats("cumprod", x, dim, false, Join(1.0, f64::times)),
    }
}

/// The logarithms of running sums of exponentials.
pub(super) fn logcumsumexp(x: Operand, dim: usize, reverse: bool) -> Result<Storage> {
    let join = Join(f64::NEG_INFINITY, log_add_exp);
    floats("logcumsumexp", x, dim, reverse, join)
}

fn log_add_exp(sum: f64, v: f64) -> f64 {
    let (low, high) = match v < sum || v.is_nan() {
        true => (v, sum),
        false => (sum, v),
    };
    if low == high && low.is_infinite() {
        return low;
    }
    (low - high).exp().ln_1p() + high
}

/// The result before the first element, and what joins an element to the result before it.
#[derive(Clone, Copy)]
struct Join<W, F: Fn(W, W) -> W>(W, F);

/// Floating-point results run in `f64` and are rounded at the end, as in PyTorch.
fn floats<F: Fn(f64, f64) -> f64 + Copy + Sync>(
    op: &'static str,
    x: Operand,
    dim: usize,
    reverse: bool,
    join: Join<f64, F>,
) -> Result<Storage> {
    let dtype = x.storage.dtype();
    match dtype {
        DType::F64 => running::<f64, _, _>(x, dim, reverse, join),
        DType::F32 => running::<f32, _, _>(x, dim, reverse, join),
        DType::F16 | DType::BF16 => {
            let layout = Layout::contiguous(x.layout.shape().clone());
            let storage = cast(x, DType::F64)?;
            let wide = Operand {
                storage,
                layout: layout.clone(),
            };
            let storage = running::<f64, _, _>(wide, dim, reverse, join)?;
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

fn running<T: Runs<W>, W: Copy + Send + Sync, F: Fn(W, W) -> W + Copy + Sync>(
    mut x: Operand,
    dim: usize,
    reverse: bool,
    join: Join<W, F>,
) -> Result<Storage> {
    let shape = x.layout.shape();
    let inner: usize = shape[dim + 1..].iter().product();
    let block = shape[dim] * inner;
    let (mut values, shared) = to_change::<T>(&mut x)?;
    if values.is_empty() {
        return Ok(CpuStorage::wrap(values));
    }
    // The elements that are scanned together.
    let len = match inner {
        1 => SIDE_BY_SIDE * block,
        _ => block,
    };
    let work = |range: Range<usize>, Items(values, _): Items<'_, T>| {
        let mut shared = shared.map(|values| values[range.start * block..].chunks(len));
        let mut results: Vec<W> = Vec::new();
        for part in values.chunks_mut(len) {
            if let Some(shared) = shared.as_mut().and_then(Iterator::next) {
                part.copy_from_slice(&shared[..part.len()]);
            }
            if inner != 1 {
                scan_block(part, inner, reverse, &mut results, join);
            } else if part.len() == len {
                scan_rows::<T, W, F, SIDE_BY_SIDE>(part, reverse, join);
            } else {
                for row in part.chunks_exact_mut(block) {
                    scan_rows::<T, W, F, 1>(row, reverse, join);
                }
            }
        }
        Ok(())
    };
    let count = values.len() / block;
    parallel_for(count, block, Items(&mut values, block), &work)?;
    Ok(CpuStorage::wrap(values))
}

/// Scans rows of `inner` elements, one after the other; `results` is memory on the way.
fn scan_block<T: Runs<W>, W: Copy, F: Fn(W, W) -> W>(
    block: &mut [T],
    inner: usize,
    reverse: bool,
    results: &mut Vec<W>,
    Join(start, join): Join<W, F>,
) {
    results.clear();
    results.resize(inner, start);
    let mut next = |row: &mut [T]| {
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

/// The number of rows that are scanned at the same time: in each of them, a result waits for the one before.
const SIDE_BY_SIDE: usize = 4;

/// Scans `N` rows, which lie one after the other.
fn scan_rows<T: Runs<W>, W: Copy, F: Fn(W, W) -> W, const N: usize>(
    rows: &mut [T],
    reverse: bool,
    Join(start, join): Join<W, F>,
) {
    let len = rows.len() / N;
    let mut chunks = rows.chunks_exact_mut(len);
    let mut rows: [&mut [T]; N] = std::array::from_fn(|_| chunks.next().unwrap_or_default());
    let at = |i: usize| if reverse { len - 1 - i } else { i };
    let mut results = [start; N];
    for i in 0..len {
        for (result, row) in results.iter_mut().zip(&mut rows) {
            *result = join(*result, row[at(i)].widen());
            row[at(i)] = T::round(*result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Layout, Operand, SIDE_BY_SIDE, Storage, cumprod, cumsum, logcumsumexp};
    use crate::backend::cpu::{CpuStorage, elements_of};
    use crate::set_num_threads;

    #[test]
    fn rows_side_by_side_are_those_of_each_alone() {
        let value = |i: usize| ((i * 7919) % 1013) as f32 / 512.0 - 0.7;
        for rows in 1..=2 * SIDE_BY_SIDE + 1 {
            // The last is divided among threads.
            for len in [1, 2, 3, 8, 33, 20_000] {
                let values: Vec<f32> = (0..rows * len).map(value).collect();
                let shared = CpuStorage::wrap(values.clone());
                let of = |storage: &Storage| Operand {
                    storage: storage.clone(),
                    layout: Layout::contiguous([rows, len].into()),
                };
                // Memory that is written over, and memory that another handle holds.
                let operands = || [of(&CpuStorage::wrap(values.clone())), of(&shared)];
                let running = |join: fn(f64, f64) -> f64, reverse: bool| {
                    let mut expected = values.clone();
                    for row in expected.chunks_exact_mut(len) {
                        let mut result = None;
                        for i in 0..len {
                            let slot = &mut row[if reverse { len - 1 - i } else { i }];
                            let v = f64::from(*slot);
                            let joined = result.map_or(v, |result| join(result, v));
                            *slot = joined as f32;
                            result = Some(joined);
                        }
                    }
                    expected
                };
                for threads in [1, 3] {
                    set_num_threads(threads);
                    for reverse in [false, true] {
                        let expected = running(|a, b| a + b, reverse);
                        for x in operands() {
                            let sums = cumsum(x, 1, reverse).unwrap();
                            let sums = elements_of::<f32>(&sums).unwrap();
                            assert_eq!(sums, expected, "{rows} {len}");
                        }
                    }
                    let expected = running(|a, b| a * b, false);
                    for x in operands() {
                        let products = cumprod(x, 1).unwrap();
                        let products = elements_of::<f32>(&products).unwrap();
                        assert_eq!(products, expected, "{rows} {len}");
                    }
                    assert_eq!(elements_of::<f32>(&shared).unwrap(), values);
                }
            }
        }
    }
    #[test]
    fn a_sum_begins_with_the_positive_zero() {
        let x = || Operand {
            storage: CpuStorage::wrap(vec![-0.0_f32, -0.0]),
            layout: Layout::contiguous([2].into()),
        };
        let signs = |y: Storage| -> Vec<bool> {
            let y = elements_of::<f32>(&y).unwrap();
            y.iter().map(|v| v.is_sign_negative()).collect()
        };
        assert_eq!(signs(cumsum(x(), 0, false).unwrap()), [false, false]);
        assert_eq!(signs(cumprod(x(), 0).unwrap()), [true, false]);
        assert_eq!(signs(logcumsumexp(x(), 0, false).unwrap()), [false, false]);
    }
}
