//! Operations on booleans, without conversion.

use super::memory::{filled, scratch};
use super::number::FromScalar;
use super::reduced_lines::{Lines, apart};
use super::runs::{map1, map2_wide};
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use super::{CompareOp, CpuStorage, Operand, Storage};
use crate::layout::Layout;
use crate::zip::zip_mut;
use crate::{Result, Scalar};

/// A function of two booleans by its results, first those of a false `a`, then those of a false `b`.
#[derive(Clone, Copy)]
struct Table([[bool; 2]; 2]);

impl Table {
    fn new(f: impl Fn(bool, bool) -> bool) -> Self {
        Self([false, true].map(|a| [false, true].map(|b| f(a, b))))
    }

    /// The function of each pair. One loop for all functions: each is a sum without carry of some of 1, a, b and a·b.
    fn of(self, a: &Operand, b: &Operand) -> Result<Storage> {
        // In bytes, because the compiler makes more steps of booleans.
        let [[zero, b_only], [a_only, both]] = self.0.map(|row| row.map(u8::from));
        let [with_a, with_b] = [zero ^ a_only, zero ^ b_only];
        let with_both = with_a ^ b_only ^ both;
        let f = move |a: bool, b: bool| {
            let [a, b] = [a, b].map(u8::from);
            zero ^ (with_a & a) ^ (with_b & b) ^ (with_both & a & b) != 0
        };
        Ok(CpuStorage::wrap(map2_wide(a, b, f)?))
    }
}

pub(super) fn compare(op: CompareOp, a: &Operand, b: &Operand) -> Result<Storage> {
    Table::new(|a, b| compared(op, &a, &b)).of(a, b)
}

pub(super) fn compare_scalar(op: CompareOp, x: &Operand, number: Scalar) -> Result<Storage> {
    let number = i64::from_scalar(number);
    let [zero, one] = [0, 1].map(|v: i64| compared(op, &v, &number));
    let f = move |v: bool| zero ^ ((zero ^ one) & v);
    Ok(CpuStorage::wrap(map1(x, f)?))
}

fn compared<T: Ord>(op: CompareOp, a: &T, b: &T) -> bool {
    match op {
        CompareOp::Eq => a == b,
        CompareOp::Ne => a != b,
        CompareOp::Lt => a < b,
        CompareOp::Le => a <= b,
        CompareOp::Gt => a > b,
        CompareOp::Ge => a >= b,
    }
}

/// The value where `mask` is `on`, otherwise the element of `x`.
pub(super) fn masked_fill(x: &Operand, mask: &Operand, on: bool, value: Scalar) -> Result<Storage> {
    let value = bool::from_scalar(value);
    Table::new(|mask, x| if mask == on { value } else { x }).of(mask, x)
}

/// Whether any element along the dimensions is true.
pub(super) fn any(x: &Operand, dims: &[usize]) -> Result<Storage> {
    find(x, dims, true)
}

/// Whether all elements along the dimensions are true.
pub(super) fn all(x: &Operand, dims: &[usize]) -> Result<Storage> {
    find(x, dims, false)
}

/// The elements of a long row that a thread searches at least.
const LONG: usize = 1 << 16;

/// `sought` where it is among the elements along the dimensions, the other value elsewhere.
fn find(x: &Operand, dims: &[usize], sought: bool) -> Result<Storage> {
    if let Some((others, last)) = apart(x.layout.shape(), dims) {
        let layout = Layout::contiguous(x.layout.shape().reduced(last, true));
        let storage = find(x, last, sought)?;
        return find(&Operand { storage, layout }, others, sought);
    }
    let mut out = filled(x.layout.shape().reduced(dims, true).numel(), !sought)?;
    if x.layout.shape().contains(&0) {
        return Ok(CpuStorage::wrap(out));
    }
    let lines = Lines::<bool>::along(x, dims)?;
    let Lines { count, inner, .. } = lines;
    if inner > 1 {
        let outer = out.len() / inner;
        let block = count * inner;
        parallel_for(outer, block / 16, Items(&mut out, inner), &|range, out| {
            let blocks = lines.values[range.start * block..].chunks_exact(block);
            for (out, block) in out.0.chunks_mut(inner).zip(blocks) {
                find_in_columns(block, sought, out);
            }
            Ok(())
        })?;
    } else if out.len() == 1 {
        let mut parts = scratch::<bool>(count.div_ceil(LONG))?;
        find_in_rows(&lines.values, LONG, sought, &mut parts)?;
        out.fill(run_at_best_level(Contains(&parts, sought)) == sought);
    } else {
        find_in_rows(&lines.values, count, sought, &mut out)?;
    }
    Ok(CpuStorage::wrap(out))
}

/// One value for each row, of which the last may be shorter.
fn find_in_rows(values: &[bool], width: usize, sought: bool, out: &mut [bool]) -> Result<()> {
    parallel_for(out.len(), width / 16, Items(out, 1), &|range, out| {
        let rows = values.get(range.start * width..).unwrap_or_default();
        for (out, row) in out.0.iter_mut().zip(rows.chunks(width)) {
            *out = run_at_best_level(Contains(row, sought)) == sought;
        }
        Ok(())
    })
}

/// One value for each column, in memory that has the value for none.
fn find_in_columns(values: &[bool], sought: bool, out: &mut [bool]) {
    for row in values.chunks_exact(out.len()) {
        match sought {
            true => zip_mut(out, row).for_each(|(out, &v)| *out |= v),
            false => zip_mut(out, row).for_each(|(out, &v)| *out &= v),
        }
    }
}

/// Whether a value is among others.
struct Contains<'a>(&'a [bool], bool);

impl Loop for Contains<'_> {
    type Output = bool;

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) -> bool {
        // The compiler makes vector instructions of a loop that does not end early.
        let other = u8::from(!self.1);
        self.0.chunks(1 << 10).any(|part| {
            let mut found = 0;
            for &v in part {
                found |= u8::from(v) ^ other;
            }
            found != 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::CompareOp;
    use super::{LONG, compare};
    use crate::{Tensor, set_num_threads};

    /// Booleans of which few are `rare`.
    fn truths(shape: &[usize], rare: bool, one_of: usize) -> Tensor {
        let numel: usize = shape.iter().product();
        let values = (0..numel)
            .map(|i| (i * i + 5 * i + 1).is_multiple_of(one_of) == rare)
            .collect();
        Tensor::from_vec(values, shape).unwrap()
    }

    fn list(x: &Tensor) -> Vec<bool> {
        x.to_vec().unwrap()
    }

    #[test]
    fn every_function_of_two_truth_values() {
        for len in [0, 1, 63, 200, LONG + 3] {
            let (x, y) = (truths(&[len], true, 3), truths(&[len], false, 4));
            let pairs = || list(&x).into_iter().zip(list(&y));
            let check = |got: crate::Result<Tensor>, f: fn(bool, bool) -> bool| {
                assert!(
                    list(&got.unwrap())
                        .into_iter()
                        .eq(pairs().map(|(a, b)| f(a, b)))
                );
            };
            check(x.logical_and(&y), |a, b| a && b);
            check(x.logical_or(&y), |a, b| a || b);
            check(x.logical_xor(&y), |a, b| a != b);
            check(x.logical_not(), |a, _| !a);
            check(x.eq(&y), |a, b| a == b);
            check(x.ne(&y), |a, b| a != b);
            check(x.lt(&y), |a, b| !a & b);
            check(x.le(&y), |a, b| a <= b);
            check(x.gt(&y), |a, b| a & !b);
            check(x.ge(&y), |a, b| a >= b);
            for number in [false, true] {
                let masked = x.masked_fill(&y, number).unwrap();
                let want = pairs().map(|(a, b)| if b { number } else { a });
                assert!(list(&masked).into_iter().eq(want));
                let not_masked = y.where_(&x, number).unwrap();
                let want = pairs().map(|(a, b)| if b { a } else { number });
                assert!(list(&not_masked).into_iter().eq(want));
                let less = list(&x.lt(number).unwrap());
                assert!(less.into_iter().eq(pairs().map(|(a, _)| !a & number)));
            }
        }
    }

    #[test]
    fn layouts_do_not_matter() {
        let x = truths(&[40, 70], true, 3);
        let (t, row) = (x.t().unwrap(), truths(&[1, 70], true, 2));
        let row = row.expand([40, 70]).unwrap();
        let want = list(&x).into_iter().zip(list(&row)).map(|(a, b)| a && b);
        assert!(list(&x.logical_and(&row).unwrap()).into_iter().eq(want));
        let both = compare(
            CompareOp::Eq,
            &t.operand(),
            &x.t().unwrap().contiguous().unwrap().operand(),
        );
        let both = Tensor::from_storage(both.unwrap(), crate::Layout::contiguous([40 * 70].into()));
        assert!(list(&both).into_iter().all(|same| same));
    }

    #[test]
    fn any_and_all_are_those_of_plain_loops() {
        let shapes: [&[usize]; 7] = [
            &[1],
            &[LONG - 1],
            &[2 * LONG + 1],
            &[300, 1100],
            &[5, 40, 1, 33],
            &[2, 3, 2, 3, 2],
            &[3, 0, 2],
        ];
        for shape in shapes {
            for one_of in [2, 101, 1 << 40] {
                check(shape, one_of);
            }
        }
    }

    /// Compares the results over every choice of dimensions with those of loops over all indices.
    fn check(shape: &[usize], one_of: usize) {
        let [few, many] = [true, false].map(|rare| truths(shape, rare, one_of));
        let transposed = few
            .movedim(0, -1)
            .unwrap()
            .contiguous()
            .unwrap()
            .movedim(-1, 0)
            .unwrap();
        for choice in 0..1_usize << shape.len() {
            let chosen = |dim: usize| choice >> dim & 1 == 1;
            let dims: Vec<isize> = (0..shape.len())
                .filter(|&dim| chosen(dim))
                .map(|dim| dim as isize)
                .collect();
            let kept: usize = (0..shape.len())
                .filter(|&dim| !chosen(dim))
                .map(|dim| shape[dim])
                .product();
            // The position in the result of an element.
            let position = |mut index: usize| {
                let (mut position, mut step) = (0, 1);
                for dim in (0..shape.len()).rev() {
                    if !chosen(dim) {
                        position += index % shape[dim] * step;
                        step *= shape[dim];
                    }
                    index /= shape[dim];
                }
                position
            };
            let (mut any, mut all) = (vec![false; kept], vec![true; kept]);
            for (i, v) in list(&few).into_iter().enumerate() {
                any[position(i)] |= v;
            }
            for (i, v) in list(&many).into_iter().enumerate() {
                all[position(i)] &= v;
            }
            for threads in [1, 3] {
                set_num_threads(threads);
                assert!(list(&few.any(&dims).unwrap()) == any, "{shape:?} {dims:?}");
                assert!(
                    list(&transposed.any(&dims).unwrap()) == any,
                    "{shape:?} {dims:?}"
                );
                assert!(list(&many.all(&dims).unwrap()) == all, "{shape:?} {dims:?}");
            }
        }
    }
}
