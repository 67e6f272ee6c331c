//! Logarithms of sums of exponentials of rows around the length of lanes, compared with the formula in `f64`.

use super::super::tests::odd_rows;
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
        let values = odd_rows(rows, size);
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
