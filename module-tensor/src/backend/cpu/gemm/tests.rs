use ndarray::{Array2, s};

use super::super::float::Float;
use super::super::simd::Level;
use super::{DEPTH, HEIGHT, MANY_COLUMNS, Matrix, MatrixMut, WIDTH, in_place, multiply_at};
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

/// A matrix in memory.
struct Stored<T> {
    memory: Vec<T>,
    sizes: [usize; 2],
    steps: [usize; 2],
}

impl<T: Float> Stored<T> {
    /// In one of six layouts: rows or columns contiguous, these with gaps, neither, or rows that share the sets of a cache.
    fn new(x: &Array2<T>, layout: usize) -> Self {
        let (rows, columns) = x.dim();
        let steps = match layout {
            0 => [columns, 1],
            1 => [1, rows],
            2 => [columns + 3, 1],
            3 => [1, rows + 5],
            5 => [columns.next_multiple_of(1024), 1],
            _ => [4 * columns, 2],
        };
        let len = rows * steps[0] + columns * steps[1];
        let mut memory = vec![T::NEG_INFINITY; len];
        for ((i, j), &v) in x.indexed_iter() {
            memory[i * steps[0] + j * steps[1]] = v;
        }
        Self {
            memory,
            sizes: [rows, columns],
            steps,
        }
    }

    fn matrix(&self) -> Matrix<'_, T> {
        Matrix::with_steps(&self.memory, self.sizes, self.steps)
    }
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
    let (a, b) = (Stored::new(&a, layouts[0]), Stored::new(&b, layouts[1]));
    let before = numbers::<T>(m, n + 2, 3);
    let scale = T::from_scalar(crate::Scalar::Float(1.5));
    for level in Level::all() {
        // What lies beside the product, and what it is written over, must not matter.
        let mut out = if add {
            before.clone()
        } else {
            before.mapv(|_| T::NEG_INFINITY)
        };
        if let Some(out) = out.as_slice_mut() {
            let out = MatrixMut::new(out, m).part(1..n + 1);
            multiply_at(level, scale, a.matrix(), b.matrix(), add, out);
        }
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
        [70, 64, 65],
        [37, 70, MANY_COLUMNS + 5],
        [12, 70, in_place::WIDTH + 37],
        [in_place::MAX_ROWS, DEPTH + 40, 33],
        [70, 40, 3],
        [HEIGHT + 9, 3, 40],
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

/// Such rows are packed, some at a time.
#[test]
fn products_of_many_rows_that_share_sets_are_those_of_the_definition() {
    for k in [64, 66, DEPTH + 71] {
        check::<f32>([HEIGHT + 30, k, 35], [5, 0], k == 66, 1e-6);
        check::<f64>([HEIGHT + 30, k, 35], [5, 1], k == 64, 1e-15);
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
    let product = |level, a: Matrix<'_, f32>, b: Matrix<'_, f32>| {
        let mut out = vec![0.0; a.rows * b.columns];
        multiply_at(level, 1.0, a, b, false, MatrixMut::new(&mut out, a.rows));
        Array2::from_shape_vec((a.rows, b.columns), out)
            .unwrap()
            .mapv(f32::to_bits)
    };
    let stored = [0, 1].map(|layout| [Stored::new(&a, layout), Stored::new(&b, layout)]);
    let [[a_rows, b_rows], [a_columns, b_columns]] =
        stored.each_ref().map(|x| x.each_ref().map(Stored::matrix));
    let mut levels = Level::all();
    let whole = product(levels[0], a_rows, b_rows);
    // The last is the least, which need not have the instruction.
    levels.truncate(levels.len().max(2) - 1);
    for level in levels {
        for (a, b) in [
            (a_rows, b_rows),
            (a_rows, b_columns),
            (a_columns, b_rows),
            (a_columns, b_columns),
        ] {
            assert_eq!(product(level, a, b), whole, "{level:?}");
        }
        for rows in [0..1, 77..78, 149..150, 3..9, 0..30] {
            // A few columns of the transposed matrix, and so narrow tiles.
            let few = a_columns.t().part(rows.clone()).t();
            assert_eq!(product(level, few, b_rows), whole.slice(s![rows, ..]));
        }
        for columns in [0..1, 50..61, 190..200, 0..33] {
            let few = product(level, a_rows, b_rows.part(columns.clone()));
            assert_eq!(few, whole.slice(s![.., columns]));
        }
    }
    let apart = [&a, &b].map(|x| Stored::new(x, 5));
    let [a_apart, b_apart] = apart.each_ref().map(Stored::matrix);
    for threads in [1, 2, 3, 8] {
        set_num_threads(threads);
        for (a, b) in [(a_rows, b_rows), (a_apart, b_rows), (a_rows, b_apart)] {
            assert_eq!(product(Level::all()[0], a, b), whole);
        }
    }
}

#[test]
fn nan_and_infinity_stay_where_they_belong() {
    let mut a = numbers::<f32>(20, 40, 1);
    a[(7, 39)] = f32::NAN;
    a[(8, 0)] = f32::INFINITY;
    let b = numbers::<f32>(40, 37, 2);
    let (a, b) = (Stored::new(&a, 0), Stored::new(&b, 0));
    for level in Level::all() {
        let mut out = Array2::from_elem((20, 37), f32::NAN);
        if let Some(out) = out.as_slice_mut() {
            multiply_at(
                level,
                1.0,
                a.matrix(),
                b.matrix(),
                false,
                MatrixMut::new(out, 20),
            );
        }
        for ((i, _), v) in out.indexed_iter() {
            assert_eq!(v.is_nan(), i == 7);
            assert_eq!(v.is_infinite(), i == 8);
        }
    }
}
