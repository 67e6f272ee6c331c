use ndarray::{Array2, ArrayView2, s};

use super::super::float::Float;
use super::super::simd::Level;
use super::{DEPTH, WIDTH, multiply_at};
use crate::set_num_threads;

/// Numbers that are no products of small ones, the same in every run.
fn numbers<T: Float>(rows: usize, columns: usize, seed: u64) -> Array2<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    Array2::from_shape_simple_fn((rows, columns), || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let unit = (state >> 11) as f64 / (1_u64 << 53) as f64;
        T::from_scalar(crate::Scalar::Float(unit - 0.5))
    })
}

/// The matrix in another layout: rows or columns contiguous, with a gap, or neither.
fn laid_out<T: Float>(x: &Array2<T>, layout: usize) -> Array2<T> {
    let (rows, columns) = x.dim();
    let mut whole = match layout {
        0 => return x.clone(),
        1 => return x.t().as_standard_layout().into_owned().reversed_axes(),
        2 => Array2::from_elem((rows, columns + 3), T::NEG_INFINITY),
        3 => Array2::from_elem((columns, rows + 5), T::NEG_INFINITY).reversed_axes(),
        _ => Array2::from_elem((rows * 2, columns * 2), T::NEG_INFINITY),
    };
    let step = if layout > 3 { 2 } else { 1 };
    whole
        .slice_mut(s![..rows * step;step, ..columns * step;step])
        .assign(x);
    whole
}

fn view<'a, T>(x: &'a Array2<T>, dim: (usize, usize), layout: usize) -> ArrayView2<'a, T> {
    let step = if layout > 3 { 2 } else { 1 };
    x.slice(s![..dim.0 * step;step, ..dim.1 * step;step])
}

/// The product in `f64`, and the sum of magnitudes that bounds its error.
fn exact<T: Float>(a: &Array2<T>, b: &Array2<T>) -> [Array2<f64>; 2] {
    let (a, b) = (a.mapv(T::to_f64), b.mapv(T::to_f64));
    let product = |a: &Array2<f64>, b: &Array2<f64>| {
        Array2::from_shape_fn((a.nrows(), b.ncols()), |(i, j)| {
            a.row(i).iter().zip(b.column(j)).map(|(a, b)| a * b).sum()
        })
    };
    [
        product(&a, &b),
        product(&a.mapv(f64::abs), &b.mapv(f64::abs)),
    ]
}

fn check<T: Float>([m, k, n]: [usize; 3], layouts: [usize; 2], add: bool, epsilon: f64) {
    let (a, b) = (numbers::<T>(m, k, 1), numbers::<T>(k, n, 2));
    let [product, magnitude] = exact(&a, &b);
    let (a_memory, b_memory) = (laid_out(&a, layouts[0]), laid_out(&b, layouts[1]));
    let (a, b) = (
        view(&a_memory, (m, k), layouts[0]),
        view(&b_memory, (k, n), layouts[1]),
    );
    let before = numbers::<T>(m, n + 2, 3);
    let scale = T::from_scalar(crate::Scalar::Float(1.5));
    for level in Level::all() {
        // What lies beside the product, and what it is written over, must not matter.
        let mut out = if add {
            before.clone()
        } else {
            before.mapv(|_| T::NEG_INFINITY)
        };
        multiply_at(level, scale, &a, &b, add, out.slice_mut(s![.., 1..=n]));
        for ((i, j), &got) in out.indexed_iter() {
            if j == 0 || j > n {
                let kept = if add { before[(i, j)] } else { T::NEG_INFINITY };
                assert!(
                    got == kept,
                    "{level:?} wrote beside the product at [{i}, {j}]"
                );
                continue;
            }
            let start = if add { before[(i, j)].to_f64() } else { 0.0 };
            let want = 1.5 * product[(i, j - 1)] + start;
            let bound = epsilon * (1.5 * magnitude[(i, j - 1)] + start.abs());
            let error = (got.to_f64() - want).abs();
            let case = format!("{level:?} {m}x{k}x{n} {layouts:?} add {add} [{i}, {j}]");
            assert!(error <= bound, "{case}: {} is not {want}", got.to_f64());
        }
    }
}

#[test]
fn products_are_those_of_the_definition_in_every_layout() {
    // Around the sizes of tiles and blocks.
    let sizes = [
        [1, 1, 1],
        [2, 3, 5],
        [4, 7, 33],
        [5, DEPTH, 31],
        [8, DEPTH + 1, 32],
        [9, 5, WIDTH + 1],
        [13, 64, 17],
        [65, 2 * DEPTH + 3, 7],
        [3, 40, 70],
        [70, 40, 3],
        [0, 4, 5],
        [4, 0, 5],
        [4, 5, 0],
    ];
    for (at, size) in sizes.into_iter().enumerate() {
        for layouts in 0..25 {
            let layouts = [layouts / 5, layouts % 5];
            check::<f32>(size, layouts, at % 2 == 0, 1e-6);
            check::<f64>(size, layouts, at % 2 == 1, 1e-15);
        }
    }
}

/// Enough rows and columns for several blocks and threads.
#[test]
fn large_products_are_those_of_the_definition() {
    let (m, k, n) = if cfg!(debug_assertions) {
        (140, 300, 530)
    } else {
        (530, 600, 1100)
    };
    for layouts in [[0, 0], [0, 1], [1, 0], [1, 1]] {
        check::<f32>([m, k, n], layouts, false, 1e-6);
        check::<f64>([n, k, m], layouts, true, 1e-15);
    }
}

/// The bits of an element depend on its row and its column alone, on every processor with fused multiply-adds.
#[test]
fn no_level_no_neighbor_and_no_thread_changes_a_bit() {
    let (m, k, n) = (150, 2 * DEPTH + 9, 200);
    let (a, b) = (numbers::<f32>(m, k, 1), numbers::<f32>(k, n, 2));
    let product = |level, a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>| {
        let mut out = Array2::zeros((a.nrows(), b.ncols()));
        multiply_at(level, 1.0, &a, &b, false, out.view_mut());
        out.mapv(f32::to_bits)
    };
    let whole = product(Level::highest(), a.view(), b.view());
    let mut levels = Level::all();
    // The last is the least, which need not have the instruction.
    levels.truncate(levels.len().max(2) - 1);
    for level in levels {
        assert_eq!(product(level, a.view(), b.view()), whole, "{level:?}");
        let (columns, rows) = (laid_out(&a, 1), laid_out(&b, 1));
        assert_eq!(product(level, columns.view(), rows.view()), whole);
        for row in [0, 77, 149] {
            let one = product(level, a.slice(s![row..=row, ..]), b.view());
            assert_eq!(one, whole.slice(s![row..=row, ..]));
        }
        let part = product(level, a.slice(s![3..9, ..]), b.slice(s![.., 50..61]));
        assert_eq!(part, whole.slice(s![3..9, 50..61]));
    }
    for threads in [1, 2, 3, 8] {
        set_num_threads(threads);
        assert_eq!(product(Level::highest(), a.view(), b.view()), whole);
    }
}

#[test]
fn nan_and_infinity_stay_where_they_belong() {
    let mut a = numbers::<f32>(20, 40, 1);
    a[(7, 39)] = f32::NAN;
    a[(8, 0)] = f32::INFINITY;
    let b = numbers::<f32>(40, 37, 2);
    for level in Level::all() {
        let mut out = Array2::from_elem((20, 37), f32::NAN);
        multiply_at(level, 1.0, &a.view(), &b.view(), false, out.view_mut());
        for ((i, _), v) in out.indexed_iter() {
            assert_eq!(v.is_nan(), i == 7);
            assert_eq!(v.is_infinite(), i == 8);
        }
    }
}
