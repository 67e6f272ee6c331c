//! Loops over operands of which one is repeated along the last dimension: a number is read once for a whole line.

use super::aligned_vec::AlignedVec;
use super::joined_runs::{BLOCK, next, run};
use super::memory::scratch;
use super::runs::in_parts;
use super::simd::Loop;
use super::view::take_to_reuse;
use super::{Element, Operand, elements};
use crate::Result;
use crate::layout::{Layout, Runs};

/// Elements side by side, in lines of one length.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a, T> {
    data: &'a [T],
    /// The distance between the first elements of two lines.
    step: usize,
    length: usize,
}

impl<'a, T> Lines<'a, T> {
    /// All elements as one line.
    pub(super) fn one(data: &'a [T]) -> Self {
        let length = data.len();
        Self {
            data,
            step: length,
            length,
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn at(self, line: usize) -> &'a [T] {
        let data = self.data.get(line * self.step..).unwrap_or_default();
        data.get(..self.length).unwrap_or_default()
    }
}

/// `f` of each element and of the number of its line.
pub(super) struct EachLine<'a, T, F> {
    pub(super) lines: Lines<'a, T>,
    pub(super) numbers: &'a [T],
    pub(super) out: &'a mut [T],
    pub(super) f: F,
}

impl<T: Element, F: Fn(T, T) -> T> Loop for EachLine<'_, T, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always, clippy::needless_range_loop)]
    fn run(self) {
        let Self {
            lines,
            numbers,
            mut out,
            f,
        } = self;
        for (line, &number) in numbers.iter().enumerate() {
            let (out, line) = (next(&mut out, lines.length), lines.at(line));
            // By index: of a loop over pairs, the compiler makes vectors only if lines are longer than 64 elements.
            let length = out.len().min(line.len());
            let (out, line) = (&mut out[..length], &line[..length]);
            for i in 0..length {
                out[i] = f(line[i], number);
            }
        }
    }
}

/// Whether `a` has elements side by side where `b` has one repeatedly; the layouts have one shape.
#[inline]
pub(super) fn are_lines_and_numbers(a: &Layout, b: &Layout) -> bool {
    let mut length = 1;
    // Most operations end here.
    if !b.strides().contains(&0) {
        return false;
    }
    let steps = a.strides().iter().zip(b.strides());
    for (&size, (&step, &repeated)) in a.shape().iter().zip(steps).rev() {
        if size == 1 {
            continue;
        }
        if step != length || repeated != 0 {
            break;
        }
        length *= size;
    }
    length > 1
}

/// A function of lines, with a number for each.
type OfLines<'f, T> = &'f (dyn Fn(Lines<'_, T>, &[T], &mut [T]) + Sync);

/// The result of `f` on operands for which [`are_lines_and_numbers`] is true, in the memory of the lines if nobody else holds
/// it.
pub(super) fn each_line<T: Element>(
    a: &mut Operand,
    b: &Operand,
    f: OfLines<'_, T>,
) -> Result<AlignedVec<T>> {
    let own = take_to_reuse(a);
    let a: &Operand = a;
    let (mut values, data) = match own {
        Some(values) => (values, None),
        None => (scratch(a.layout.shape().numel())?, Some(elements::<T>(a)?)),
    };
    let b_data = elements::<T>(b)?;
    let layouts = [&a.layout, &b.layout];
    in_parts(layouts, 1, &mut values, &|[a, b], mut out| {
        let (length, starts) = Runs::new([&a, &b]).starts();
        let (mut buffer, mut piece) = (Vec::new(), Vec::new());
        for r in starts.pieces((BLOCK / length.max(1)).max(1)) {
            let numbers = run(b_data, r.offsets[1], r.steps[1], r.length, &mut buffer);
            let out = next(&mut out, r.length * length);
            let Some(data) = data else {
                over_lines(length, numbers, out, &mut piece, f);
                continue;
            };
            let lines = Lines {
                data: data.get(r.offsets[0]..).unwrap_or_default(),
                step: r.steps[0],
                length,
            };
            f(lines, numbers, out);
        }
    })?;
    Ok(values)
}

/// `f` of lines that lie in `out`, where the results replace them: whole lines, or one, of which pieces are copied first.
fn over_lines<T: Element>(
    length: usize,
    numbers: &[T],
    out: &mut [T],
    piece: &mut Vec<T>,
    f: OfLines<'_, T>,
) {
    for out in out.chunks_mut(BLOCK) {
        piece.clear();
        piece.extend_from_slice(out);
        let length = length.min(out.len());
        let lines = Lines {
            data: piece,
            step: length,
            length,
        };
        f(lines, numbers, out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::strided;
    use super::super::{BinaryOp, elements_of, elementwise};
    use super::{Operand, are_lines_and_numbers};
    use crate::backend::cpu::joined_runs::BLOCK;
    use crate::layout::{Layout, Shape};
    use crate::set_num_threads;

    /// Numbers, some of them NaN, infinite or zeros of both signs, and those that a layout shows.
    fn operand(sizes: [usize; 3], strides: [usize; 3]) -> (Operand, Vec<f32>) {
        strided(sizes, strides, |i| match i % 61 {
            7 => f32::NAN,
            11 => f32::INFINITY,
            17 => -0.0,
            23 => 0.0,
            other => other as f32 / 7.0 - 3.0,
        })
    }

    type Operation = (BinaryOp, fn(f32, f32) -> f32);

    const OPERATIONS: [Operation; 5] = [
        (BinaryOp::Add, |a, b| a + b),
        (BinaryOp::Sub, |a, b| a - b),
        (BinaryOp::Mul, |a, b| a * b),
        (BinaryOp::Div, |a, b| a / b),
        (
            BinaryOp::Maximum,
            |a, b| if a.is_nan() || a > b { a } else { b },
        ),
    ];

    fn check(op: Operation, a: &(Operand, Vec<f32>), b: &(Operand, Vec<f32>)) {
        let bits = |v: f32| if v.is_nan() { f32::NAN } else { v }.to_bits();
        let pairs = a.1.iter().zip(&b.1);
        let expected: Vec<u32> = pairs.map(|(&a, &b)| bits((op.1)(a, b))).collect();
        let got = elementwise::binary(op.0, &mut a.0.clone(), &mut b.0.clone()).unwrap();
        let got = elements_of::<f32>(&got).unwrap();
        assert!(got.iter().map(|&v| bits(v)).eq(expected), "{:?}", op.0);
    }

    #[test]
    fn a_number_goes_with_every_element_of_its_line() {
        let sizes: &[[usize; 3]] = match cfg!(miri) {
            true => &[[2, 3, 17]],
            false => &[
                [1, 1, 1],
                [2, 3, 7],
                [2, 3, 8],
                [3, 5, 17],
                [4, 70, 64],
                [1, 2, BLOCK + 1],
                [5, 3, BLOCK],
                [2, 0, 64],
                [300, 3, 100],
            ],
        };
        for &[n, rows, columns] in sizes {
            let size = [n, rows, columns];
            // In order, apart from each other, one row repeatedly, and one element of each two.
            let lines = [
                [rows * columns, columns, 1],
                [rows * (columns + 3), columns + 3, 1],
                [columns, 0, 1],
                [2 * rows * columns, 2 * columns, 2],
            ];
            // For each row, for each row of all matrices, for each matrix, for all, and for every other row.
            let numbers = [
                [rows, 1, 0],
                [0, 1, 0],
                [1, 0, 0],
                [0, 0, 0],
                [2 * rows, 2, 0],
            ];
            for threads in [1, 3] {
                set_num_threads(threads);
                for strides in lines {
                    let a = operand(size, strides);
                    for strides in numbers {
                        let b = operand(size, strides);
                        for op in OPERATIONS {
                            check(op, &a, &b);
                            check(op, &b, &a);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_are_what_is_repeated_along_lines() {
        let layout = |strides: [usize; 3]| {
            Layout::within(Shape::from([5, 4, 4]), &strides, 0, 1 << 10).unwrap()
        };
        let whole = layout([16, 4, 1]);
        assert!(are_lines_and_numbers(&whole, &layout([1, 0, 0])));
        assert!(are_lines_and_numbers(&whole, &layout([4, 1, 0])));
        assert!(are_lines_and_numbers(
            &layout([40, 8, 1]),
            &layout([0, 0, 0])
        ));
        assert!(!are_lines_and_numbers(&whole, &layout([0, 0, 1])));
        assert!(!are_lines_and_numbers(&whole, &whole));
        assert!(!are_lines_and_numbers(
            &layout([32, 8, 2]),
            &layout([1, 0, 0])
        ));
        assert!(!are_lines_and_numbers(&layout([1, 0, 0]), &whole));
    }
}
