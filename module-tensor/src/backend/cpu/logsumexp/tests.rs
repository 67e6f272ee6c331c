//! Logarithms of sums of exponentials of rows around the length of lanes, compared with the formula in `f64`.

use crate::{Tensor, set_num_threads};

fn expected(row: &[f32]) -> f64 {
    let wide = |v: &f32| f64::from(*v);
    let most = row.iter().map(wide).fold(f64::NEG_INFINITY, f64::max);
    if row.iter().any(|v| v.is_nan()) {
        return f64::NAN;
    }
    if most.is_infinite() {
        return most;
    }
    most + row.iter().map(|v| (wide(v) - most).exp()).sum::<f64>().ln()
}

#[test]
fn rows_of_any_length_are_summed_and_infinite_ones_change_no_others() {
    for size in [1, 2, 3, 7, 20, 33, 63, 64, 65, 70] {
        let rows = if cfg!(miri) { 5 } else { 1500 };
        let number = |i: usize| match (i / size % 50, i % size) {
            (3, 0) => f32::NAN,
            (5, at) if at + 1 == size => f32::INFINITY,
            (7, _) => f32::NEG_INFINITY,
            (9, 0) => f32::NEG_INFINITY,
            (11, _) => 1e30,
            (row, at) => ((row * 37 + at * 101) % 89) as f32 / 7.0 - 6.0,
        };
        let values: Vec<f32> = (0..rows * size).map(number).collect();
        let x = Tensor::from_vec(values.clone(), [rows, size]).unwrap();
        for threads in [1, 2, 5] {
            set_num_threads(threads);
            let sums = x.logsumexp(1).unwrap().to_vec::<f32>().unwrap();
            for ((row, at), &sum) in values.chunks_exact(size).zip(0..).zip(&sums) {
                let (want, sum) = (expected(row), f64::from(sum));
                let is_near = (sum - want).abs() <= 1e-6 * want.abs().max(1.0);
                let is_same = sum == want || (sum.is_nan() && want.is_nan());
                assert!(is_near || is_same, "row {at} of {size}: {sum}, not {want}");
            }
        }
    }
}
