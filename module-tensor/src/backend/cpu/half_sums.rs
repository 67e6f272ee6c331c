//! Sums of numbers of half precision along the last dimensions, block by block.

use half::{bf16, f16};

use super::aligned_vec::AlignedVec;
use super::dispatch::types;
use super::lanes::{LANES_BLOCK, LONG as STRETCH, MOST_IN_ORDER, sum_narrow};
use super::memory::scratch;
use super::narrow::Narrow;
use super::number::Number;
use super::threads::{Items, parallel_for};
use super::view::slice;
use super::{CpuStorage, Operand, Storage};
use crate::Result;

/// The sums along the last dimensions, with the bits of those of the widened operand; `None` if the operand has another
/// dtype or order.
pub(super) fn sum_rows(x: &Operand, dims: &[usize]) -> Result<Option<Storage>> {
    let shape = x.layout.shape();
    let are_last = dims
        .iter()
        .copied()
        .eq(shape.rank() - dims.len()..shape.rank());
    if !are_last || dims.is_empty() || shape.contains(&0) {
        return Ok(None);
    }
    let width = dims.iter().map(|&dim| shape[dim]).product();
    types!(x.storage.dtype(), T => sums::<T>(x, width); F16 f16, BF16 bf16; _other => Ok(None))
}

fn sums<T: Narrow<Wide: Number>>(x: &Operand, width: usize) -> Result<Option<Storage>> {
    let Some(values) = slice::<T>(x)? else {
        return Ok(None);
    };
    let mut out = scratch::<T>(values.len() / width)?;
    if width > MOST_IN_ORDER {
        for (out, row) in out.iter_mut().zip(values.chunks_exact(width)) {
            let parts = add_up(row, row.len().div_ceil(STRETCH), STRETCH)?;
            T::narrow(&[total(&parts)], std::slice::from_mut(out));
        }
    } else {
        T::narrow(&add_up(values, out.len(), width)?, &mut out);
    }
    Ok(Some(CpuStorage::wrap(out)))
}

fn total<T: Number>(parts: &[T]) -> T {
    parts.iter().copied().fold(T::zero(), T::plus)
}

/// The sums of so many parts of a length, of which the last may be shorter.
fn add_up<T: Narrow<Wide: Number>>(
    values: &[T],
    count: usize,
    length: usize,
) -> Result<AlignedVec<T::Wide>> {
    let mut sums = scratch::<T::Wide>(count)?;
    // Eight elements in a nanosecond, about.
    parallel_for(
        count,
        length.div_ceil(8),
        Items(&mut sums, 1),
        &|range, sums| {
            let mut buffer = scratch(length.min(LANES_BLOCK))?;
            let parts = values[range.start * length..].chunks(length);
            for (sum, part) in sums.0.iter_mut().zip(parts) {
                *sum = sum_narrow(part, &mut buffer);
            }
            Ok(())
        },
    )?;
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::super::{ReduceOp, all_dtypes};
    use super::{CpuStorage, MOST_IN_ORDER, Operand, sum_rows};
    use crate::backend::cpu::elements_of;
    use crate::layout::{Layout, Shape};
    use crate::set_num_threads;

    #[test]
    fn sums_of_rows_are_those_of_the_widened_rows() {
        let widths: &[usize] = match cfg!(miri) {
            true => &[1, 65],
            false => &[1, 7, 64, 65, 1000, 4096, 4097, 9001, MOST_IN_ORDER + 5],
        };
        for &width in widths {
            let number = |i: usize| bf16::from_f32((i * 7919 % 997) as f32 / 31.0 - 16.0);
            let values: Vec<bf16> = (0..9 * width).map(number).collect();
            let wide: Vec<f32> = values.iter().map(|v| v.to_f32()).collect();
            let layout = Layout::contiguous(Shape::from([3, 3, width]));
            let of = |storage| Operand {
                storage,
                layout: layout.clone(),
            };
            let (x, wide) = (of(CpuStorage::wrap(values)), of(CpuStorage::wrap(wide)));
            for dims in [&[2][..], &[1, 2], &[0, 1, 2]] {
                let sums = all_dtypes::reduce(ReduceOp::Sum, wide.clone(), dims).unwrap();
                let sums = elements_of::<f32>(&sums).unwrap().iter();
                let expected: Vec<bf16> = sums.map(|&v| bf16::from_f32(v)).collect();
                for threads in [1, 3] {
                    set_num_threads(threads);
                    assert!(sum_rows(&x, dims).unwrap().is_some());
                    let sums = all_dtypes::reduce(ReduceOp::Sum, x.clone(), dims).unwrap();
                    assert_eq!(elements_of::<bf16>(&sums).unwrap(), expected, "{width}");
                }
            }
        }
    }

    #[test]
    fn other_sums_are_left_to_others() {
        let of = |sizes: [usize; 2]| Operand {
            storage: CpuStorage::wrap(vec![bf16::ONE; sizes[0] * sizes[1]]),
            layout: Layout::contiguous(Shape::from(sizes)),
        };
        let is_left = |x: &Operand, dims: &[usize]| sum_rows(x, dims).unwrap().is_none();
        assert!(is_left(&of([3, 4]), &[0]));
        assert!(is_left(&of([3, 4]), &[]));
        assert!(is_left(&of([3, 0]), &[1]));
        let mut turned = of([3, 4]);
        turned.layout = turned.layout.permute(&[1, 0]);
        assert!(is_left(&turned, &[1]));
    }
}
