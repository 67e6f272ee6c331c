//! Products of a matrix with vectors, compared with their sums as they are defined.

use half::f16;

use super::{
    LONG, add_columns_by_vector, add_copied_rows, add_f16_rows_by_vector, add_rows_by_vector,
    rows_by_vectors,
};
use crate::backend::cpu::lanes::{WIDE_LANES, sum_of_lanes};
use crate::set_num_threads;

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    let number = |i: usize| ((i * 7919 + seed * 104_729) % 1013) as f32 / 512.0 - 1.0;
    (0..count).map(number).collect()
}

/// Rows of each number of bytes around which they are read in another way, for `f32` and for `f16`.
const SIZES: [(usize, usize); 8] = [
    (1, 1),
    (2, 63),
    (3, 64),
    (5, 65),
    (8, 200),
    (301, 1000),
    (6, LONG / 4),
    (15, LONG / 2 + 5),
];

/// The product of a row with the vector as the sums are defined.
fn dot(row: &[f32], vector: &[f32]) -> f32 {
    let (mut sums, mut rest) = ([0.0; WIDE_LANES], 0.0);
    let whole = row.len() / WIDE_LANES * WIDE_LANES;
    for (i, (a, b)) in row.iter().zip(vector).enumerate() {
        *if i < whole {
            &mut sums[i % WIDE_LANES]
        } else {
            &mut rest
        } += a * b;
    }
    rest + sum_of_lanes(sums)
}

#[test]
fn rows_are_multiplied_in_the_order_of_one_product() {
    for threads in [1, 3] {
        set_num_threads(threads);
        for (rows, depth) in SIZES {
            let step = depth + 3;
            let (matrix, vector) = (numbers(rows * step, 1), numbers(depth, 2));
            let start = numbers(rows, 3);
            let mut out = start.clone();
            add_rows_by_vector(&matrix, step, &vector, &mut out).unwrap();
            for r in 0..rows {
                let sum = start[r] + dot(&matrix[r * step..][..depth], &vector);
                assert_eq!(out[r].to_bits(), sum.to_bits(), "{rows} {depth} {r}");
            }
            let halves: Vec<f16> = matrix.iter().map(|&v| f16::from_f32(v)).collect();
            let wide: Vec<f32> = halves.iter().map(|v| v.to_f32()).collect();
            let (mut narrow, mut same) = (start.clone(), start);
            add_f16_rows_by_vector(&halves, step, &vector, &mut narrow).unwrap();
            add_rows_by_vector(&wide, step, &vector, &mut same).unwrap();
            assert_eq!(narrow, same);
            let mut copied = numbers(rows, 3);
            add_copied_rows(&halves, step, &vector, &mut copied);
            assert_eq!(copied, same);
        }
    }
}

#[test]
fn a_few_vectors_are_multiplied_as_one_is() {
    for threads in [1, 3] {
        set_num_threads(threads);
        for (rows, depth) in [(1, 1), (3, 64), (5, 65), (301, 1000)] {
            let step = depth + 3;
            let matrix = numbers(rows * step, 1);
            for count in [1, 2, 4, 7, 8] {
                let vectors: Vec<Vec<f32>> = (0..count).map(|i| numbers(depth, i)).collect();
                let slices: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
                let mut out = vec![f32::NAN; rows * count];
                rows_by_vectors(&matrix, step, &slices, &mut out).unwrap();
                for (i, out) in out.into_iter().enumerate() {
                    let row = &matrix[i / count * step..][..depth];
                    assert_eq!(out.to_bits(), dot(row, slices[i % count]).to_bits());
                }
            }
        }
    }
}

#[test]
fn columns_are_added_one_after_the_other() {
    for threads in [1, 3] {
        set_num_threads(threads);
        for (rows, depth) in [(1, 1), (17, 3), (16, 4), (33, 7), (1000, 301)] {
            let step = rows + 2;
            let (matrix, vector) = (numbers(depth * step, 1), numbers(depth, 2));
            let mut out = numbers(rows, 3);
            let mut expected = out.clone();
            add_columns_by_vector(&matrix, step, &vector, &mut out).unwrap();
            for (c, &factor) in vector.iter().enumerate() {
                for (r, sum) in expected.iter_mut().enumerate() {
                    *sum += factor * matrix[c * step + r];
                }
            }
            assert_eq!(out, expected, "{rows} {depth}");
        }
    }
}
