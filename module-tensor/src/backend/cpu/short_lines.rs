//! Loops over pairs of elements that lie in short lines, such as parts of rows or a row for all rows, and over such lines with a
//! number for each.
//!
//! Each line is computed where it lies: to copy the lines of both operands into one piece first takes longer than to compute.

use super::aligned_vec::AlignedVec;
use super::joined_runs::next;
use super::memory::scratch;
use super::runs::in_parts;
use super::simd::{Loop, run_at_best_level};
use super::strided_lines::StridedLines;
use super::{Element, Operand, elements};
use crate::Result;
use crate::layout::Runs;

/// The minimum length of lines for which there is a loop.
const SHORTEST: usize = 8;

/// The length from which lines are not short.
const LONG: usize = 128;

/// The operands, if the elements of the first lie side by side in short lines, and the second has such a line or one number for
/// each. `commute` says that they may change places; their layouts have one shape.
#[inline]
pub(super) fn short_lines<'a>(
    a: &'a Operand,
    b: &'a Operand,
    commute: bool,
) -> Option<[&'a Operand; 2]> {
    // Most operations end here.
    if a.layout.is_contiguous() && b.layout.is_contiguous() {
        return None;
    }
    let runs = Runs::new([&a.layout, &b.layout]);
    match runs.steps() {
        _ if !(SHORTEST..LONG).contains(&runs.length()) => None,
        [1, 0 | 1] => Some([a, b]),
        [0, 1] if commute => Some([b, a]),
        _ => None,
    }
}

/// `f` of each pair of elements, in row-major order, of operands that [`short_lines`] has returned.
pub(super) fn pairs_in_lines<T: Element>(
    a: &Operand,
    b: &Operand,
    f: impl Fn(T, T) -> T + Copy + Sync,
) -> Result<AlignedVec<T>> {
    of_lines(a, b, &|lines, out| {
        run_at_best_level(EachPairOfLines { lines, out, f });
    })
}

/// A function of lines of two operands.
type OfLines<'f, T> = &'f (dyn Fn([StridedLines<'_, T>; 2], &mut [T]) + Sync);

fn of_lines<T: Element>(a: &Operand, b: &Operand, f: OfLines<'_, T>) -> Result<AlignedVec<T>> {
    let mut values = scratch(a.layout.shape().numel())?;
    let data = [elements::<T>(a)?, elements::<T>(b)?];
    in_parts(
        [&a.layout, &b.layout],
        1,
        &mut values,
        &|[a, b], mut out| {
            for block in Runs::new([&a, &b]).blocks(usize::MAX, usize::MAX) {
                let lines = [0, 1].map(|i| StridedLines {
                    data: data[i].get(block.offsets[i]..).unwrap_or_default(),
                    stride: block.strides[i],
                    step: block.steps[i],
                    length: block.length,
                });
                f(lines, next(&mut out, block.count * block.length));
            }
        },
    )?;
    Ok(values)
}

/// `f` of each pair of elements of lines of one length, whose elements lie side by side.
struct EachPairOfLines<'a, T, F> {
    lines: [StridedLines<'a, T>; 2],
    out: &'a mut [T],
    f: F,
}

impl<T: Element, F: Fn(T, T) -> T + Copy> Loop for EachPairOfLines<'_, T, F> {
    type Output = ();

    // Of loops over fewer than 64 elements, the compiler makes vectors only if it knows their number.

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let [a, b] = self.lines;
        match (a.length, [a.step, b.step]) {
            (8..16, [1, 1]) => self.run_by::<8>(),
            (16..32, [1, 1]) => self.run_by::<16>(),
            (32..64, [1, 1]) => self.run_by::<32>(),
            (64..LONG, [1, 1]) => self.run_by::<64>(),
            (8..16, [1, 0]) => self.run_with_numbers_by::<8>(),
            (16..32, [1, 0]) => self.run_with_numbers_by::<16>(),
            (32..64, [1, 0]) => self.run_with_numbers_by::<32>(),
            (64..LONG, [1, 0]) => self.run_with_numbers_by::<64>(),
            _ => self.run_one_by_one(),
        }
    }
}

// Without closures, which the compiler may leave as functions without vector instructions.
impl<T: Element, F: Fn(T, T) -> T + Copy> EachPairOfLines<'_, T, F> {
    /// Computes the first and the last `W` elements of lines of at least `W` and at most `2 W`. Those that are among both are
    /// computed twice.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run_by<const W: usize>(self) {
        let Self { lines, out, f } = self;
        let [a, b] = lines;
        let rest = a.length - W;
        let (mut a_start, mut b_start) = (0, 0);
        for out in out.chunks_exact_mut(a.length) {
            let (Some(x), Some(y)) = (a.data.get(a_start..), b.data.get(b_start..)) else {
                return;
            };
            compute::<T, W>([x.first_chunk(), y.first_chunk()], out.first_chunk_mut(), f);
            if rest > 0 {
                let x = x.get(rest..).unwrap_or_default();
                let y = y.get(rest..).unwrap_or_default();
                compute::<T, W>([x.first_chunk(), y.first_chunk()], out.last_chunk_mut(), f);
            }
            a_start += a.stride;
            b_start += b.stride;
        }
    }

    /// The same for lines of `a` with a number of `b` for each. As one function, with the choice as a constant, lines of 16 took a
    /// sixth longer.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run_with_numbers_by<const W: usize>(self) {
        let Self { lines, out, f } = self;
        let [a, b] = lines;
        let rest = a.length - W;
        let (mut a_start, mut b_start) = (0, 0);
        for out in out.chunks_exact_mut(a.length) {
            let (Some(x), Some(&number)) = (a.data.get(a_start..), b.data.get(b_start)) else {
                return;
            };
            compute_with_number::<T, W>(x.first_chunk(), number, out.first_chunk_mut(), f);
            if rest > 0 {
                let x = x.get(rest..).unwrap_or_default();
                compute_with_number::<T, W>(x.first_chunk(), number, out.last_chunk_mut(), f);
            }
            a_start += a.stride;
            b_start += b.stride;
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run_one_by_one(self) {
        let Self { lines, out, f } = self;
        let [a, b] = lines;
        let (mut a_start, mut b_start) = (0, 0);
        for out in out.chunks_exact_mut(a.length.max(1)) {
            let x = a.data.get(a_start..).unwrap_or_default();
            let y = b.data.get(b_start..).unwrap_or_default();
            for (i, out) in out.iter_mut().enumerate() {
                if let (Some(&x), Some(&y)) = (x.get(i * a.step), y.get(i * b.step)) {
                    *out = f(x, y);
                }
            }
            a_start += a.stride;
            b_start += b.stride;
        }
    }
}

/// `f` of each pair of elements, which `to` gets only when all are computed.
#[inline(always)]
#[allow(clippy::inline_always, clippy::needless_range_loop)]
fn compute<T: Element, const W: usize>(
    [x, y]: [Option<&[T; W]>; 2],
    to: Option<&mut [T; W]>,
    f: impl Fn(T, T) -> T + Copy,
) {
    if let (Some(x), Some(y), Some(to)) = (x, y, to) {
        let mut computed = [T::default(); W];
        for i in 0..W {
            computed[i] = f(x[i], y[i]);
        }
        *to = computed;
    }
}

/// [`compute`] with one number in place of the second of each pair.
#[inline(always)]
#[allow(clippy::inline_always)]
fn compute_with_number<T: Element, const W: usize>(
    x: Option<&[T; W]>,
    number: T,
    to: Option<&mut [T; W]>,
    f: impl Fn(T, T) -> T + Copy,
) {
    if let (Some(x), Some(to)) = (x, to) {
        let mut computed = [T::default(); W];
        for i in 0..W {
            computed[i] = f(x[i], number);
        }
        *to = computed;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::strided;
    use super::super::{BinaryOp, elements_of, elementwise};
    use super::{Operand, short_lines};
    use crate::set_num_threads;

    /// Numbers, and those that a layout shows.
    fn operand(sizes: [usize; 3], strides: [usize; 3]) -> (Operand, Vec<f32>) {
        strided(sizes, strides, |i| (i % 61) as f32 / 7.0 - 3.0)
    }

    type Operation = (BinaryOp, fn(f32, f32) -> f32);

    const OPERATIONS: [Operation; 3] = [
        (BinaryOp::Add, |a, b| a + b),
        (BinaryOp::Sub, |a, b| a - b),
        (BinaryOp::Mul, |a, b| a * b),
    ];

    #[test]
    fn lines_of_any_length_are_computed_where_they_lie() {
        let lengths: &[usize] = match cfg!(miri) {
            true => &[8, 19],
            false => &[
                1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129,
            ],
        };
        for &length in lengths {
            for [n, rows] in [[1, 1], [1, 3], [3, 1], [2, 5], [7, 70]] {
                let (sizes, wide) = ([n, rows, length], length + 5);
                // In order, parts of rows, one row for all, and rows in another order; a number for each row, and for each matrix.
                let layouts = [
                    [rows * length, length, 1],
                    [rows * wide, wide, 1],
                    [0, 0, 1],
                    [0, wide, 1],
                    [wide, n * wide, 1],
                    [rows, 1, 0],
                    [2, 0, 0],
                ];
                for threads in [1, 3] {
                    set_num_threads(threads);
                    for strides in layouts.into_iter().flat_map(|a| layouts.map(|b| [a, b])) {
                        let [(a, x), (b, y)] = strides.map(|strides| operand(sizes, strides));
                        for (op, f) in OPERATIONS {
                            let got =
                                elementwise::binary(op, &mut a.clone(), &mut b.clone()).unwrap();
                            let pairs = x.iter().zip(&y);
                            let expected: Vec<f32> = pairs.map(|(&x, &y)| f(x, y)).collect();
                            let got = elements_of::<f32>(&got).unwrap();
                            assert_eq!(got, expected, "{op:?} {sizes:?} {strides:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn lines_are_short_parts_of_rows() {
        let rows =
            |length: usize, stride: usize| operand([2, 3, length], [3 * stride, stride, 1]).0;
        let are_short = |a: &Operand, b: &Operand| short_lines(a, b, false).is_some();
        assert!(are_short(&rows(16, 32), &rows(16, 32)));
        assert!(are_short(&rows(16, 16), &rows(16, 0)));
        assert!(!are_short(&rows(16, 16), &rows(16, 16)));
        assert!(!are_short(&rows(7, 32), &rows(7, 32)));
        assert!(!are_short(&rows(128, 130), &rows(128, 130)));
        let (lines, numbers) = (rows(16, 32), operand([2, 3, 16], [3, 1, 0]).0);
        assert!(are_short(&lines, &numbers));
        assert!(!are_short(&numbers, &lines));
        let [first, second] = short_lines(&numbers, &lines, true).unwrap();
        assert!(std::ptr::eq(first, &lines) && std::ptr::eq(second, &numbers));
    }
}
