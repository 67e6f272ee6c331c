//! Softmax of rows around the lengths that change how they are processed, compared with the formula in `f64`.

use super::super::tests::odd_rows;
use crate::{Tensor, set_num_threads};

/// The softmax and its logarithm.
fn expected(row: &[f32]) -> (Vec<f64>, Vec<f64>) {
    let wide: Vec<f64> = row.iter().map(|v| f64::from(*v)).collect();
    let most = wide.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = wide.iter().map(|v| (v - most).exp()).sum();
    let logs: Vec<f64> = wide.iter().map(|v| v - most - sum.ln()).collect();
    let shares = wide.iter().map(|v| (v - most).exp() / sum).collect();
    match row.iter().any(|v| v.is_nan()) {
        true => (vec![f64::NAN; row.len()], vec![f64::NAN; row.len()]),
        false => (shares, logs),
    }
}

fn check(got: &[f32], want: &[f64], label: &str) {
    for (&a, &b) in got.iter().zip(want) {
        let a = f64::from(a);
        let is_near = (a - b).abs() <= 1e-6 * b.abs().max(1.0);
        let is_same = a == b || a.is_nan() && b.is_nan();
        assert!(is_near || is_same, "{label}: {a}, not {b}");
    }
}

#[test]
fn rows_of_any_length_become_shares_and_odd_ones_change_no_others() {
    for size in [1, 2, 3, 4, 7, 15, 16, 17, 20, 33, 63, 64, 65, 130] {
        let rows = if cfg!(miri) { 5 } else { 600 };
        let values = odd_rows(rows, size);
        let x = Tensor::from_vec(values.clone(), [rows, size]).unwrap();
        for threads in [1, 2, 5] {
            set_num_threads(threads);
            let shares = x.softmax(1).unwrap().to_vec::<f32>().unwrap();
            let logs = x.log_softmax(1).unwrap().to_vec::<f32>().unwrap();
            let got = shares.chunks_exact(size).zip(logs.chunks_exact(size));
            for ((row, at), (shares, logs)) in values.chunks_exact(size).zip(0..).zip(got) {
                let (want, want_logs) = expected(row);
                check(shares, &want, &format!("softmax of row {at} of {size}"));
                check(
                    logs,
                    &want_logs,
                    &format!("logarithm in row {at} of {size}"),
                );
            }
        }
    }
}
