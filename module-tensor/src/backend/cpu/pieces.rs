//! Reductions of the rows of operands of narrow types, some rows at a time.
//!
//! Widened rows stay in the cache until they are reduced. Operands that do not lie in row-major order are widened as a whole.

use half::{bf16, f16};

use super::aligned_vec::AlignedVec;
use super::dispatch::types;
use super::map::through_wide;
use super::memory::scratch;
use super::narrow::Narrow;
use super::threads::{Items, parallel_for};
use super::view::slice;
use super::{CpuStorage, Operand, Storage, elements_of};
use crate::Result;
use crate::layout::{Layout, Shape};

/// The maximum number of elements of a piece. No kernel shares so few among threads, which share the pieces.
const PIECE: usize = 1 << 12;

/// A kernel that reduces an operand along this dimension: each row to one element.
type RowKernel<'k> = &'k (dyn Fn(&Operand, usize) -> Result<Storage> + Sync);

/// [`through_wide`] for a kernel along a dimension.
pub(super) fn rows_through_wide(x: Operand, dim: usize, kernel: RowKernel<'_>) -> Result<Storage> {
    let out = types!(x.storage.dtype(), T => in_pieces::<T>(&x, dim, kernel)?;
        F16 f16, BF16 bf16, I32 i32, U8 u8; _other => None);
    match out {
        Some(out) => Ok(out),
        None => through_wide([x], |[x]| kernel(&x, dim)),
    }
}

/// Runs a kernel on pieces of an operand of type `T`. `None` if it is to run on the whole operand.
fn in_pieces<T: Narrow>(x: &Operand, dim: usize, kernel: RowKernel<'_>) -> Result<Option<Storage>> {
    let shape = x.layout.shape();
    let last = shape.last().filter(|_| dim + 1 == shape.rank());
    let Some(&width) = last.filter(|width| (1..=PIECE).contains(*width)) else {
        return Ok(None);
    };
    let (count, group) = (shape.numel() / width, PIECE / width);
    let Some(whole) = slice::<T>(x)?.filter(|_| count > group) else {
        return Ok(None);
    };
    let mut values = scratch::<T>(count)?;
    let items = Items(&mut values, group);
    let pieces = count.div_ceil(group);
    parallel_for(pieces, 2 * PIECE, items, &|range, results| {
        // In memory that all pieces use in turn.
        let memory = || CpuStorage::wrap(AlignedVec::<T::Wide>::unspecified(group * width));
        let layout = |rows: usize| Layout::contiguous(Shape::from([rows, width]));
        let mut piece = Operand {
            storage: memory(),
            layout: layout(group),
        };
        let starts = (range.start * group..count).step_by(group);
        for (start, results) in starts.zip(results.0.chunks_mut(group)) {
            let rows = group.min(count - start);
            if rows < group {
                piece.layout = layout(rows);
            }
            if !piece.storage.is_unshared() {
                piece.storage = memory();
            }
            let memory = piece.storage.downcast_mut::<CpuStorage>();
            let wide = memory.and_then(CpuStorage::values_mut::<T::Wide>);
            let narrow = &whole[start * width..][..rows * width];
            T::widen(narrow, wide.unwrap_or_default());
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

    use super::super::{ReduceOp, reduce};
    use super::{Operand, PIECE, Storage, rows_through_wide, through_wide};
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
            for dtype in [DType::F16, DType::BF16, DType::I32, DType::U8] {
                let x = numbers(&[count, width], dtype, 11).operand();
                let op = match width {
                    0 => ReduceOp::Sum,
                    _ => ReduceOp::Max,
                };
                let most = |x: &Operand, dim: usize| reduce::reduce(op, x.clone(), &[dim]);
                let rows = read(through_wide([x.clone()], |[x]| most(&x, 1)));
                let sum = |x: &Operand, dim| reduce::reduce(ReduceOp::Sum, x.clone(), &[dim]);
                let columns = read(through_wide([x.clone()], |[x]| sum(&x, 0)));
                for threads in [1, 3] {
                    set_num_threads(threads);
                    let got = rows_through_wide(x.clone(), 1, &most);
                    assert!(read(got) == rows, "{count} {width}");
                    let got = rows_through_wide(x.clone(), 0, &sum);
                    assert!(read(got) == columns, "{count} {width}");
                }
            }
        }
    }

    /// The first element of each row.
    fn first(x: &Operand) -> Result<Storage> {
        let layout = x.layout.slice(1, 0, 1, 1);
        let x = Operand {
            layout,
            ..x.clone()
        };
        reduce::reduce(ReduceOp::Sum, x, &[1])
    }

    /// The most elements that a kernel is given of an operand.
    fn most(x: &Tensor) -> usize {
        let most = AtomicUsize::new(0);
        let out = rows_through_wide(x.operand(), 1, &|x, _| {
            most.fetch_max(x.layout.shape().numel(), Ordering::Relaxed);
            first(x)
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
        let out = rows_through_wide(x.operand(), 1, &|x, _| {
            kept.lock().unwrap().push(x.storage.clone());
            first(x)
        });
        assert_eq!(out.unwrap().dtype(), DType::F16);
        let values = x.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
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
        let out = rows_through_wide(x.operand(), 1, &|_, _| Err(Error::custom("refused")));
        assert_eq!(out.err().unwrap().to_string(), "refused");
    }
}
