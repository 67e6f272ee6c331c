//! Sums of rows of half precision, block by block.

use half::{bf16, f16};

use super::dispatch::types;
use super::lanes::{LANES_BLOCK, MOST_IN_ORDER, sum_narrow};
use super::memory::scratch;
use super::narrow::Narrow;
use super::number::Number;
use super::threads::{Items, parallel_for};
use super::view::slice;
use super::{CpuStorage, Operand, Storage};
use crate::Result;

/// The sums along the last dimension, with the bits of those of the widened operand; `None` if the operand has another
/// dtype or order, or rows that threads share.
pub(super) fn sum_rows(x: &Operand, dims: &[usize]) -> Result<Option<Storage>> {
    let shape = x.layout.shape();
    let Some(&width) = shape.last().filter(|_| *dims == [shape.rank() - 1]) else {
        return Ok(None);
    };
    match (1..=MOST_IN_ORDER).contains(&width) {
        true => types!(x.storage.dtype(), T => sums::<T>(x, width);
            F16 f16, BF16 bf16; _other => Ok(None)),
        false => Ok(None),
    }
}

fn sums<T: Narrow<Wide: Number>>(x: &Operand, width: usize) -> Result<Option<Storage>> {
    let Some(values) = slice::<T>(x)? else {
        return Ok(None);
    };
    let mut out = scratch::<T>(values.len() / width)?;
    let count = out.len();
    // Eight elements in a nanosecond, about.
    parallel_for(
        count,
        width.div_ceil(8),
        Items(&mut out, 1),
        &|range, out| {
            let mut buffer = scratch(width.min(LANES_BLOCK))?;
            let rows = values[range.start * width..].chunks_exact(width);
            for (out, row) in out.0.iter_mut().zip(rows) {
                let sum = sum_narrow(row, &mut buffer);
                T::narrow(&[sum], std::slice::from_mut(out));
            }
            Ok(())
        },
    )?;
    Ok(Some(CpuStorage::wrap(out)))
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
            false => &[1, 7, 64, 65, 1000, 4096, 4097, 9001],
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
            let sums = all_dtypes::reduce(ReduceOp::Sum, wide, &[2]).unwrap();
            let sums = elements_of::<f32>(&sums).unwrap().iter();
            let expected: Vec<bf16> = sums.map(|&v| bf16::from_f32(v)).collect();
            for threads in [1, 3] {
                set_num_threads(threads);
                assert!(sum_rows(&x, &[2]).unwrap().is_some());
                let sums = all_dtypes::reduce(ReduceOp::Sum, x.clone(), &[2]).unwrap();
                assert_eq!(elements_of::<bf16>(&sums).unwrap(), expected, "{width}");
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
        assert!(is_left(&of([3, 4]), &[0, 1]));
        assert!(is_left(&of([3, 0]), &[1]));
        assert!(is_left(&of([1, MOST_IN_ORDER + 1]), &[1]));
        let mut turned = of([3, 4]);
        turned.layout = turned.layout.permute(&[1, 0]);
        assert!(is_left(&turned, &[1]));
    }
}
