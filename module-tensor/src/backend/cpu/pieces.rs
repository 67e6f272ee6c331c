//! Kernels along the last dimension of operands of narrow types, some rows at a time.
//!
//! Rows stay in the cache until the result is rounded. Operands that do not lie in row-major order are widened as a whole.

use half::{bf16, f16};

use super::aligned_vec::AlignedVec;
use super::dispatch::types;
use super::map::through_wide;
use super::memory::scratch;
use super::narrow::Narrow;
use super::threads::{Items, parallel_for};
use super::view::slice;
use super::{CpuStorage, Operand, Storage, elements_of};
use crate::layout::{Layout, Shape};
use crate::{DType, Result};

/// The maximum number of elements of a piece. No kernel shares so few among threads, which share the pieces.
const PIECE: usize = 1 << 12;

/// What a kernel makes of operands of one shape along this dimension.
type RowKernel<'k, const N: usize> = &'k (dyn Fn(&[Operand; N], usize) -> Result<Storage> + Sync);

/// What a kernel makes of a row.
#[derive(Clone, Copy)]
pub(super) enum PerRow {
    Row,
    Element,
}

/// [`through_wide`] for a kernel along a dimension.
pub(super) fn rows_through_wide<const N: usize>(
    operands: [Operand; N],
    dim: usize,
    per_row: PerRow,
    kernel: RowKernel<'_, N>,
) -> Result<Storage> {
    match narrowed(&operands, Rows::along(&operands, dim, per_row), kernel)? {
        Some(out) => Ok(out),
        None => through_wide(operands, |operands| kernel(&operands, dim)),
    }
}

/// [`through_f32`](super::map::through_f32) for a kernel along a dimension.
pub(super) fn rows_through_f32<const N: usize>(
    operands: [Operand; N],
    dim: usize,
    per_row: PerRow,
    kernel: RowKernel<'_, N>,
) -> Result<Storage> {
    match is_half(&operands) {
        true => rows_through_wide(operands, dim, per_row, kernel),
        false => kernel(&operands, dim),
    }
}

fn is_half(operands: &[Operand]) -> bool {
    matches!(dtype_of(operands), DType::F16 | DType::BF16)
}

/// The dtype of operands that have the same; one that is computed with as it is if they do not.
fn dtype_of(operands: &[Operand]) -> DType {
    let mut dtypes = operands.iter().map(|x| x.storage.dtype());
    let first = dtypes.next().unwrap_or(DType::F32);
    match dtypes.all(|dtype| dtype == first) {
        true => first,
        false => DType::F32,
    }
}

/// The result of a kernel in the dtype of the operands, if it is one that is widened and they go in pieces.
fn narrowed<const N: usize>(
    operands: &[Operand; N],
    rows: Rows,
    kernel: RowKernel<'_, N>,
) -> Result<Option<Storage>> {
    types!(dtype_of(operands), T => in_pieces::<T, N>(operands, rows, kernel);
        F16 f16, BF16 bf16, I32 i32, U8 u8; _other => Ok(None))
}

/// Operands as rows, of which a kernel takes each by itself.
#[derive(Clone, Copy)]
struct Rows {
    count: usize,
    /// The number of elements of a row, in each operand.
    width: usize,
    /// The number of elements of its result.
    out: usize,
}

impl Rows {
    const NONE: Self = Self {
        count: 0,
        width: 1,
        out: 1,
    };

    fn along(operands: &[Operand], dim: usize, per_row: PerRow) -> Self {
        let Some(shape) = operands.first().map(|x| x.layout.shape()) else {
            return Self::NONE;
        };
        let Some(&width) = shape.last().filter(|_| dim + 1 == shape.rank()) else {
            return Self::NONE;
        };
        let out = match per_row {
            PerRow::Row => width,
            PerRow::Element => 1,
        };
        let count = shape.numel().checked_div(width).unwrap_or_default();
        Self { count, width, out }
    }

    /// Whether there is more than one piece of them.
    fn are_many(self) -> bool {
        (1..=PIECE).contains(&self.width) && self.count > PIECE / self.width
    }
}

/// Runs a kernel on pieces of operands of type `T`. `None` if it is to run on the whole operands.
fn in_pieces<T: Narrow, const N: usize>(
    operands: &[Operand; N],
    rows: Rows,
    kernel: RowKernel<'_, N>,
) -> Result<Option<Storage>> {
    if !rows.are_many() {
        return Ok(None);
    }
    let mut whole: [&[T]; N] = [&[]; N];
    for (whole, x) in whole.iter_mut().zip(operands) {
        match slice(x)? {
            Some(elements) => *whole = elements,
            None => return Ok(None),
        }
    }
    let Rows { count, width, out } = rows;
    let group = PIECE / width;
    let mut values = scratch::<T>(count * out)?;
    let items = Items(&mut values, group * out);
    let pieces = count.div_ceil(group);
    parallel_for(pieces, 2 * PIECE, items, &|range, results| {
        // In memory that all pieces use in turn.
        let memory = || CpuStorage::wrap(AlignedVec::<T::Wide>::unspecified(group * width));
        let layout = |rows: usize| Layout::contiguous(Shape::from([rows, width]));
        let mut piece = [(); N].map(|()| Operand {
            storage: memory(),
            layout: layout(group),
        });
        let starts = (range.start * group..count).step_by(group);
        for (start, results) in starts.zip(results.0.chunks_mut(group * out)) {
            let rows = group.min(count - start);
            for (x, whole) in piece.iter_mut().zip(whole) {
                if rows < group {
                    x.layout = layout(rows);
                }
                if !x.storage.is_unshared() {
                    x.storage = memory();
                }
                let memory = x.storage.downcast_mut::<CpuStorage>();
                let wide = memory.and_then(CpuStorage::values_mut::<T::Wide>);
                let narrow = &whole[start * width..][..rows * width];
                T::widen(narrow, wide.unwrap_or_default());
            }
            T::narrow(elements_of(&kernel(&piece, 1)?)?, results);
        }
        Ok(())
    })?;
    Ok(Some(CpuStorage::wrap(values)))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::{ReduceOp, SoftmaxOp, reduce, softmax};
    use super::{
        Operand, PIECE, PerRow, Storage, rows_through_f32, rows_through_wide, through_wide,
    };
    use crate::layout::Layout;
    use crate::{DType, Error, Result, Tensor, set_num_threads};

    /// Numbers that do not begin at the start of their memory.
    fn numbers(shape: &[usize], dtype: DType, step: i64) -> Tensor {
        let numel: usize = shape.iter().product();
        let values = (0..numel as i64 + 3).map(|i| i * step % 251 - 25).collect();
        let memory = Tensor::from_vec(values, [numel + 3])
            .unwrap()
            .to_dtype(dtype)
            .unwrap();
        memory
            .narrow(0, 3..numel + 3)
            .unwrap()
            .reshape(shape)
            .unwrap()
    }

    fn read(storage: Result<Storage>) -> Vec<f64> {
        let storage = storage.unwrap();
        let len = crate::backend::dispatch::dispatch!(storage.dtype(), T => super::elements_of::<T>(&storage).unwrap().len());
        let x = Tensor::from_storage(storage, Layout::contiguous(len.into()));
        x.to_dtype(DType::F64).unwrap().to_vec().unwrap()
    }

    #[test]
    fn rows_in_pieces_are_those_of_the_whole() {
        for (count, width) in [
            (PIECE + 1, 1),
            (2 * PIECE, 3),
            (65, 64),
            (9, PIECE),
            (3, PIECE + 1),
            (2, 0),
            (0, 5),
        ] {
            let x = numbers(&[count, width], DType::BF16, 11).operand();
            let wide = |x: &Operand, dim| softmax::softmax(SoftmaxOp::Softmax, x, dim);
            let sum = |x: &Operand, dim: usize| reduce::reduce(ReduceOp::Sum, x.clone(), &[dim]);
            let want = read(through_wide([x.clone()], |[x]| wide(&x, 1)));
            let sums = read(through_wide([x.clone()], |[x]| sum(&x, 1)));
            let columns = read(through_wide([x.clone()], |[x]| sum(&x, 0)));
            for threads in [1, 3] {
                set_num_threads(threads);
                let got = rows_through_f32([x.clone()], 1, PerRow::Row, &|[x], dim| wide(x, dim));
                assert!(read(got) == want, "{count} {width}");
                let per_row = PerRow::Element;
                let got = rows_through_wide([x.clone()], 1, per_row, &|[x], dim| sum(x, dim));
                assert!(read(got) == sums, "{count} {width}");
                let got = rows_through_wide([x.clone()], 0, per_row, &|[x], dim| sum(x, dim));
                assert!(read(got) == columns, "{count} {width}");
            }
        }
    }

    /// The most elements that a kernel is given of an operand.
    fn most(x: &Tensor) -> usize {
        let most = AtomicUsize::new(0);
        let out = rows_through_wide([x.operand()], 1, PerRow::Row, &|[x], _| {
            most.fetch_max(x.layout.shape().numel(), Ordering::Relaxed);
            Ok(x.storage.clone())
        });
        assert_eq!(out.unwrap().dtype(), x.dtype());
        most.into_inner()
    }

    #[test]
    fn only_large_operands_in_order_go_in_pieces() {
        let x = numbers(&[PIECE, 2], DType::BF16, 3);
        assert_eq!(most(&x), PIECE);
        assert_eq!(most(&x.t().unwrap()), 2 * PIECE);
        assert_eq!(most(&numbers(&[1, PIECE], DType::I32, 3)), PIECE);
        assert_eq!(most(&x.to_dtype(DType::F32).unwrap()), 2 * PIECE);
    }

    #[test]
    fn memory_that_a_kernel_keeps_is_not_written_over() {
        set_num_threads(1);
        let kept = Mutex::new(Vec::new());
        let x = numbers(&[3, PIECE], DType::F16, 17);
        let out = rows_through_wide([x.operand()], 1, PerRow::Row, &|[x], _| {
            kept.lock().unwrap().push(x.storage.clone());
            Ok(x.storage.clone())
        });
        let values = x.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
        assert_eq!(read(out), values);
        let kept: Vec<f64> = kept
            .into_inner()
            .unwrap()
            .into_iter()
            .flat_map(|x| read(Ok(x)))
            .collect();
        assert_eq!(kept, values);
    }

    #[test]
    fn the_error_of_a_piece_is_the_error() {
        let x = numbers(&[2, PIECE], DType::U8, 1);
        let refuse = |_: &[Operand; 1], _| Err(Error::custom("refused"));
        let out = rows_through_wide([x.operand()], 1, PerRow::Row, &refuse);
        assert_eq!(out.err().unwrap().to_string(), "refused");
    }
}
