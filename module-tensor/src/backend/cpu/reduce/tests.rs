//! Reductions of lines of any length, compared with plain loops.

use super::super::arg_reduce::arg_reduce;
use super::super::lanes::{sum, sum_lines};
use super::super::reduced_lines::apart;
use super::{in_two_steps, reduce, sum_squares};
use crate::backend::cpu::{ArgReduceOp, CpuStorage, Operand, ReduceOp, Storage, elements_of};
use crate::layout::{Layout, Shape};
use crate::{Result, set_num_threads};

/// Whole numbers, so that sums are exact in any order, several of them equal, with some NaN if asked for.
fn numbers(len: usize, with_nan: bool) -> Vec<f64> {
    let number = |i: usize| match (i * 7919 + i / 13) % 251 {
        5 if with_nan => f64::NAN,
        other => other as f64 - 120.0,
    };
    (0..len).map(number).collect()
}

/// The lines of `[outer, count, inner]` elements, one after the other.
fn lines(values: &[f64], [_, count, inner]: [usize; 3]) -> Vec<Vec<f64>> {
    let line = |i: usize| {
        let start = i / inner * count * inner + i % inner;
        values[start..]
            .iter()
            .step_by(inner)
            .take(count)
            .copied()
            .collect()
    };
    (0..values.len() / count).map(line).collect()
}

#[test]
fn lines_are_summed_like_each_alone() {
    let fraction = |i: usize| match i % 11 {
        3 => -0.0,
        other => 1.0 / (other as f32 - 4.7 - i as f32 / 977.0),
    };
    let values: Vec<f32> = (0..1300).map(fraction).collect();
    for count in [1, 2, 3, 7, 16, 31, 63, 64, 65, 130] {
        let mut sums = vec![f32::NAN; values.len() / count];
        sum_lines(&values, count, &mut sums);
        let alone = values.chunks_exact(count).map(sum);
        let bits = |v: f32| v.to_bits();
        assert!(sums.into_iter().map(bits).eq(alone.map(bits)), "{count}");
    }
}

fn operand(values: &[f64], sizes: [usize; 3]) -> Operand {
    Operand {
        storage: CpuStorage::wrap(values.to_vec()),
        layout: Layout::contiguous(Shape::from(&sizes[..])),
    }
}

/// Equal, or both NaN.
fn same(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

fn sizes() -> impl Iterator<Item = [usize; 3]> {
    let counts: &[usize] = match cfg!(miri) {
        true => &[1, 7, 65],
        false => &[1, 2, 3, 4, 5, 7, 15, 16, 17, 31, 63, 64, 65, 127, 130, 513],
    };
    let shapes = |&count: &usize| {
        [1, 3, 8, 9, 70].into_iter().flat_map(move |inner| {
            let outer = [1, 2, 3].into_iter();
            outer.map(move |outer| [outer, count, inner])
        })
    };
    // Long enough for several threads, and wide enough for them to share columns.
    let large: &[[usize; 3]] = match cfg!(miri) {
        true => &[],
        false => &[
            [1, 300_001, 1],
            [1, 5000, 70],
            [1, 400, 1030],
            [700, 130, 9],
            [2, 63, 300],
            [1, 130, 300],
        ],
    };
    counts.iter().flat_map(shapes).chain(large.iter().copied())
}

fn extreme(line: &[f64], is_better: fn(&f64, &f64) -> bool) -> (usize, f64) {
    let better = |best: (usize, f64), (i, &v): (usize, &f64)| match () {
        () if best.1.is_nan() => best,
        () if v.is_nan() || is_better(&v, &best.1) => (i, v),
        () => best,
    };
    line.iter().enumerate().fold((0, line[0]), better)
}

#[test]
fn each_line_becomes_one_element_with_any_number_of_threads() {
    for sizes in sizes() {
        let values = numbers(sizes.iter().product(), false);
        let lines = lines(&values, sizes);
        let sums: Vec<f64> = lines.iter().map(|line| line.iter().sum()).collect();
        let squares = lines.iter().map(|line| line.iter().map(|v| v * v).sum());
        let squares: Vec<f64> = squares.collect();
        for threads in [1, 3] {
            set_num_threads(threads);
            let sum = reduce(ReduceOp::Sum, operand(&values, sizes), &[1]).unwrap();
            assert_eq!(elements_of::<f64>(&sum).unwrap(), sums, "{sizes:?}");
            let norm = sum_squares(operand(&values, sizes), &[1]).unwrap();
            assert_eq!(elements_of::<f64>(&norm).unwrap(), squares, "{sizes:?}");
        }
    }
}

#[test]
fn products_have_all_factors() {
    for sizes in sizes() {
        // Powers of two, whose product is exact.
        let values = numbers(sizes.iter().product(), false);
        let power = |v: &f64| if *v > 0.0 { 2.0 } else { 0.5 };
        let values: Vec<f64> = values.iter().map(power).collect();
        let product = |line: &Vec<f64>| line.iter().product();
        let expected: Vec<f64> = lines(&values, sizes).iter().map(product).collect();
        let products = reduce(ReduceOp::Prod, operand(&values, sizes), &[1]).unwrap();
        assert_eq!(
            elements_of::<f64>(&products).unwrap(),
            expected,
            "{sizes:?}"
        );
    }
}

#[test]
fn the_extreme_is_the_first_and_nan_if_there_is_one() {
    type IsBetter = fn(&f64, &f64) -> bool;
    let greatest = (ReduceOp::Max, ArgReduceOp::Max, f64::gt as IsBetter);
    let smallest = (ReduceOp::Min, ArgReduceOp::Min, f64::lt as IsBetter);
    for sizes in sizes() {
        for with_nan in [false, true] {
            let values = numbers(sizes.iter().product(), with_nan);
            let lines = lines(&values, sizes);
            for (op, arg_op, is_better) in [greatest, smallest] {
                let expected = lines.iter().map(|line| extreme(line, is_better));
                let (at, best): (Vec<_>, Vec<_>) = expected.map(|(i, v)| (i as i64, v)).unzip();
                set_num_threads(3);
                let found = reduce(op, operand(&values, sizes), &[1]).unwrap();
                let found = elements_of::<f64>(&found).unwrap();
                let are_same = found.iter().zip(&best).all(|(&a, &b)| same(a, b));
                assert!(are_same && found.len() == best.len(), "{sizes:?}");
                let indices = arg_reduce(arg_op, operand(&values, sizes), 1).unwrap();
                assert_eq!(elements_of::<i64>(&indices).unwrap(), at, "{sizes:?}");
            }
        }
    }
}

/// An operand of these values, whose dimensions lie in memory in this order.
fn in_memory_order(values: &[f64], sizes: [usize; 4], order: [usize; 4]) -> Operand {
    let stored = Layout::contiguous(Shape::from(&order.map(|dim| sizes[dim])[..]));
    let inverse = [0, 1, 2, 3].map(|dim| order.iter().position(|&d| d == dim).unwrap());
    let layout = stored.permute(&inverse);
    let mut data = vec![f64::NAN; values.len()];
    for (i, &v) in values.iter().enumerate() {
        let (mut rest, mut at) = (i, 0);
        for dim in (0..4).rev() {
            at += rest % sizes[dim] * layout.strides()[dim];
            rest /= sizes[dim];
        }
        data[at] = v;
    }
    Operand {
        storage: CpuStorage::wrap(data),
        layout,
    }
}

#[test]
fn dimensions_that_are_not_adjacent_are_reduced_together_in_any_order_of_memory() {
    for order in [
        [0, 1, 2, 3],
        [0, 2, 1, 3],
        [1, 3, 0, 2],
        [3, 2, 1, 0],
        [2, 3, 0, 1],
    ] {
        reduce_apart(order);
    }
}

fn reduce_apart(order: [usize; 4]) {
    let all: [&[usize]; 9] = [
        &[1],
        &[3],
        &[0, 2],
        &[0, 3],
        &[1, 3],
        &[0, 1, 3],
        &[0, 2, 3],
        &[2, 3],
        &[],
    ];
    for sizes in [[6, 5, 9, 1], [3, 4, 1, 7], [2, 70, 3, 8], [1, 3, 300, 5]] {
        let values = numbers(sizes.iter().product(), false);
        let x = || in_memory_order(&values, sizes, order);
        for dims in all {
            // The elements by their position in the result.
            let kept: usize = (0..4)
                .filter(|dim| !dims.contains(dim))
                .map(|dim| sizes[dim])
                .product();
            let mut lines = vec![Vec::new(); kept];
            for (i, &v) in values.iter().enumerate() {
                let (mut index, mut position, mut step) = (i, 0, 1);
                for dim in (0..4).rev() {
                    if !dims.contains(&dim) {
                        position += index % sizes[dim] * step;
                        step *= sizes[dim];
                    }
                    index /= sizes[dim];
                }
                lines[position].push(v);
            }
            let check = |got: Result<Storage>, of_line: fn(&[f64]) -> f64| {
                let expected: Vec<f64> = lines.iter().map(|line| of_line(line)).collect();
                let got = got.unwrap();
                let got = elements_of::<f64>(&got).unwrap();
                assert_eq!(got, expected, "{sizes:?} {order:?} {dims:?}");
            };
            check(reduce(ReduceOp::Sum, x(), dims), |line| line.iter().sum());
            check(sum_squares(x(), dims), |line| {
                line.iter().map(|v| v * v).sum()
            });
            check(reduce(ReduceOp::Max, x(), dims), |line| {
                line.iter().copied().fold(f64::NEG_INFINITY, f64::max)
            });
            check(reduce(ReduceOp::Min, x(), dims), |line| {
                line.iter().copied().fold(f64::INFINITY, f64::min)
            });
        }
    }
}

#[test]
fn dimensions_are_apart_if_elements_lie_between_them() {
    let shape = Shape::from([8, 64, 1, 56]);
    assert_eq!(apart(&shape, &[0, 2, 3]), Some((&[0][..], &[2, 3][..])));
    assert_eq!(apart(&shape, &[1, 3]), None);
    assert_eq!(apart(&shape, &[0, 1, 3]), None);
    assert_eq!(apart(&shape, &[0, 3]), Some((&[0][..], &[3][..])));
    assert_eq!(apart(&shape, &[]), None);
    assert_eq!(apart(&Shape::from([2, 0, 3]), &[0, 2]), None);
    // Long lines are reduced before rows, and rows before short lines.
    let long = Shape::from([8, 64, 56, 56]);
    let steps = |first, then| Some([first, then]);
    assert_eq!(
        in_two_steps(&long, &[0, 2, 3]),
        steps(&[2, 3][..], &[0][..])
    );
    assert_eq!(
        in_two_steps(&shape, &[0, 2, 3]),
        steps(&[0][..], &[2, 3][..])
    );
    assert_eq!(in_two_steps(&shape, &[1, 3]), None);
}
