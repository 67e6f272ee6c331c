//! Large tensors, for which blocks and threads matter, compared with loops in `f64`: results and the gradients of all
//! operands.
#![allow(clippy::unwrap_used)]

mod convolutions;
mod layers;
mod tails;

use module_core::{AttentionOptions, set_num_threads};
use module_nn::prelude::*;

/// The minimum number of elements of a large tensor.
const LARGE: usize = 1 << 17;

fn draw(shape: &[usize], seed: u64) -> Tensor {
    let draw = || Tensor::randn(shape.to_vec(), DType::F32)?.with_grad();
    fork_rng(seed, draw).unwrap()
}

fn numbers(x: &Tensor) -> Vec<f64> {
    x.to_dtype(DType::F64).unwrap().to_vec().unwrap()
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |max, x| max.max(x.abs()))
}

#[track_caller]
fn close(actual: &Tensor, expected: &[f64], bound: f64, what: &str) {
    let actual = numbers(actual);
    assert_eq!(actual.len(), expected.len(), "{what}");
    for (i, (a, b)) in actual.iter().zip(expected).enumerate() {
        assert!(
            (a - b).abs() <= bound,
            "{what}: element {i} is {a:e} instead of {b:e}"
        );
    }
}

/// An output, and the gradients of the operands.
type Expected = (Vec<f64>, Vec<Vec<f64>>);

/// Equal within 1e-5 of the largest element.
#[track_caller]
fn check(
    leaves: &[&Tensor],
    operation: impl Fn() -> Result<Tensor>,
    expected: impl FnOnce(&[f64]) -> Expected,
) {
    check_within(leaves, operation, |grad| {
        let expected = expected(grad);
        let bounds = expected.1.iter().map(|x| 1e-5 * largest(x)).collect();
        (expected.clone(), (1e-5 * largest(&expected.0), bounds))
    });
}

/// Runs `operation` with few and with many threads, and its backward pass for a gradient, and compares the output and the
/// gradients of `leaves` with the expected ones, each within its bound.
#[track_caller]
fn check_within(
    leaves: &[&Tensor],
    operation: impl Fn() -> Result<Tensor>,
    expected: impl FnOnce(&[f64]) -> (Expected, (f64, Vec<f64>)),
) {
    let shape = operation().unwrap().shape().clone();
    let grad = draw(&shape, 99).detach();
    let ((out, grads), (bound, bounds)) = expected(&numbers(&grad));
    assert_eq!(grads.len(), leaves.len());
    for threads in [1, 5] {
        set_num_threads(threads);
        for leaf in leaves {
            leaf.zero_grad();
        }
        let y = operation().unwrap();
        close(&y, &out, bound, &format!("output, {threads} threads"));
        y.mul(&grad).unwrap().sum(..).unwrap().backward().unwrap();
        for (i, (leaf, expected)) in leaves.iter().zip(&grads).enumerate() {
            close(
                &leaf.grad().unwrap(),
                expected,
                bounds[i],
                &format!("gradient {i}, {threads} threads"),
            );
        }
    }
}

/// `a[m, k] · b[k, n]`
fn product(a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    for (row, a) in out.chunks_mut(n).zip(a.chunks(k)) {
        for (&a, b) in a.iter().zip(b.chunks(n)) {
            row.iter_mut().zip(b).for_each(|(out, &b)| *out += a * b);
        }
    }
    out
}

fn transposed(a: &[f64], columns: usize) -> Vec<f64> {
    let rows = a.len() / columns;
    (0..a.len())
        .map(|i| a[i % rows * columns + i / rows])
        .collect()
}

#[test]
fn products_of_matrices() {
    let [m, k, n] = [367, 129, 383];
    assert!(m * n >= LARGE);
    let (a, b) = (draw(&[m, k], 1), draw(&[k, n], 2));
    check(
        &[&a, &b],
        || a.matmul(&b),
        |grad| {
            let (a, b) = (numbers(&a), numbers(&b));
            let of_a = product(grad, &transposed(&b, n), [m, n, k]);
            let of_b = product(&transposed(&a, k), grad, [k, m, n]);
            (product(&a, &b, [m, k, n]), vec![of_a, of_b])
        },
    );
}

#[test]
fn linear_maps() {
    let [m, k, n] = [1031, 65, 131];
    assert!(m * n >= LARGE);
    let (x, weight, bias) = (draw(&[m, k], 3), draw(&[n, k], 4), draw(&[n], 5));
    check(
        &[&x, &weight, &bias],
        || x.linear(&weight, Some(&bias)),
        |grad| {
            let (x, weight, bias) = (numbers(&x), numbers(&weight), numbers(&bias));
            let mut out = product(&x, &transposed(&weight, k), [m, k, n]);
            let mut of_bias = vec![0.0; n];
            for (i, out) in out.iter_mut().enumerate() {
                *out += bias[i % n];
                of_bias[i % n] += grad[i];
            }
            let of_x = product(grad, &weight, [m, n, k]);
            let of_weight = product(&transposed(grad, n), &x, [n, m, k]);
            (out, vec![of_x, of_weight, of_bias])
        },
    );
}

#[test]
fn attention() {
    let [heads, steps, size] = [2, 300, 16];
    assert!(heads * steps * steps >= LARGE);
    let [query, key, value] = [8, 9, 10].map(|seed| draw(&[1, heads, steps, size], seed));
    let attend = || query.scaled_dot_product_attention(&key, &value, AttentionOptions::default());
    check(&[&query, &key, &value], attend, |grad| {
        let scale = 1.0 / (size as f64).sqrt();
        let [query, key, value] = [&query, &key, &value].map(numbers);
        let (mut out, mut grads) = (Vec::new(), vec![Vec::new(); 3]);
        for head in 0..heads {
            let part = |x: &[f64]| x[head * steps * size..][..steps * size].to_vec();
            let (q, k, v, grad) = (part(&query), part(&key), part(&value), part(grad));
            let mut shares = product(&q, &transposed(&k, size), [steps, size, steps]);
            for row in shares.chunks_mut(steps) {
                row.iter_mut().for_each(|x| *x = (*x * scale).exp());
                let sum: f64 = row.iter().sum();
                row.iter_mut().for_each(|x| *x /= sum);
            }
            out.extend(product(&shares, &v, [steps, steps, size]));
            let mut slopes = product(&grad, &transposed(&v, size), [steps, size, steps]);
            for (row, shares) in slopes.chunks_mut(steps).zip(shares.chunks(steps)) {
                let mean: f64 = row.iter().zip(shares).map(|(a, b)| a * b).sum();
                let of = |(x, share): (&mut f64, &f64)| *x = share * (*x - mean) * scale;
                row.iter_mut().zip(shares).for_each(of);
            }
            grads[0].extend(product(&slopes, &k, [steps, steps, size]));
            grads[1].extend(product(
                &transposed(&slopes, steps),
                &q,
                [steps, steps, size],
            ));
            grads[2].extend(product(
                &transposed(&shares, steps),
                &grad,
                [steps, steps, size],
            ));
        }
        (out, grads)
    });
}

#[test]
fn reductions() {
    let [rows, columns] = [517, 263];
    assert!(rows * columns >= LARGE);
    let x = draw(&[rows, columns], 11);
    let values = numbers(&x);
    let of_columns = |grad: &[f64]| (0..rows * columns).map(|i| grad[i % columns]).collect();
    let of_rows = |grad: &[f64]| (0..rows * columns).map(|i| grad[i / columns]).collect();
    let sums: Vec<f64> = values.chunks(columns).map(|row| row.iter().sum()).collect();
    check(
        &[&x],
        || x.sum(1),
        |grad| (sums.clone(), vec![of_rows(grad)]),
    );
    let across: Vec<f64> = transposed(&values, columns)
        .chunks(rows)
        .map(|column| column.iter().sum())
        .collect();
    check(
        &[&x],
        || x.sum(0),
        |grad| (across.clone(), vec![of_columns(grad)]),
    );
    let total: f64 = sums.iter().sum();
    check(
        &[&x],
        || x.sum(..),
        |grad| (vec![total], vec![vec![grad[0]; values.len()]]),
    );
    let share = 1.0 / values.len() as f64;
    check(
        &[&x],
        || x.mean(..),
        |grad| {
            (
                vec![total * share],
                vec![vec![grad[0] * share; values.len()]],
            )
        },
    );
    let squares: f64 = values.iter().map(|x| x * x).sum();
    check(
        &[&x],
        || x.mul(&x)?.sum(..),
        |grad| {
            (
                vec![squares],
                vec![values.iter().map(|x| 2.0 * x * grad[0]).collect()],
            )
        },
    );
    check(
        &[&x],
        || x.softmax(-1),
        |grad| {
            let (mut out, mut slopes) = (Vec::new(), Vec::new());
            for (row, grad) in values.chunks(columns).zip(grad.chunks(columns)) {
                let sum: f64 = row.iter().map(|x| x.exp()).sum();
                let shares: Vec<f64> = row.iter().map(|x| x.exp() / sum).collect();
                let mean: f64 = shares.iter().zip(grad).map(|(a, b)| a * b).sum();
                slopes.extend(
                    shares
                        .iter()
                        .zip(grad)
                        .map(|(share, grad)| share * (grad - mean)),
                );
                out.extend(shares);
            }
            (out, vec![slopes])
        },
    );
}
