//! Large tensors in layers with weights: normalizations, embeddings, recurrent layers.

use module_nn::prelude::*;

use super::{Expected, LARGE, check, draw, numbers, product, transposed};

const EPS: f64 = 1e-5;

/// A normalization of groups of elements, each scaled and shifted by its feature: the output, and the gradients of input,
/// weight and bias.
fn normalized(
    x: &[f64],
    [weight, bias]: [&[f64]; 2],
    grad: &[f64],
    groups: usize,
    group: impl Fn(usize) -> usize,
    feature: impl Fn(usize) -> usize,
) -> Expected {
    let of_groups = |value: &dyn Fn(usize) -> f64| {
        let mut sums = vec![0.0; groups];
        (0..x.len()).for_each(|i| sums[group(i)] += value(i));
        let count = (x.len() / groups) as f64;
        sums.into_iter().map(|sum| sum / count).collect::<Vec<_>>()
    };
    let means = of_groups(&|i| x[i]);
    let variances = of_groups(&|i| (x[i] - means[group(i)]).powi(2));
    let deviation = |i: usize| (variances[group(i)] + EPS).sqrt();
    let normal = |i: usize| (x[i] - means[group(i)]) / deviation(i);
    let slope = |i: usize| grad[i] * weight[feature(i)];
    let (slopes, pulls) = (of_groups(&slope), of_groups(&|i| slope(i) * normal(i)));
    let mut of_weights = [vec![0.0; weight.len()], vec![0.0; bias.len()]];
    let (mut out, mut of_x) = (Vec::new(), Vec::new());
    for i in 0..x.len() {
        out.push(normal(i) * weight[feature(i)] + bias[feature(i)]);
        let rest = slope(i) - slopes[group(i)] - normal(i) * pulls[group(i)];
        of_x.push(rest / deviation(i));
        of_weights[0][feature(i)] += grad[i] * normal(i);
        of_weights[1][feature(i)] += grad[i];
    }
    let [of_weight, of_bias] = of_weights;
    (out, vec![of_x, of_weight, of_bias])
}

#[test]
fn normalizations() {
    let [rows, columns] = [521, 257];
    assert!(rows * columns >= LARGE);
    let x = draw(&[rows, columns], 12);
    let (weight, bias) = (draw(&[columns], 13), draw(&[columns], 14));
    check(
        &[&x, &weight, &bias],
        || x.layer_norm([columns], Some(&weight), Some(&bias), EPS),
        |grad| {
            let [x, weight, bias] = [&x, &weight, &bias].map(numbers);
            let of = [&weight[..], &bias];
            normalized(&x, of, grad, rows, |i| i / columns, |i| i % columns)
        },
    );

    let [batch, channels, steps] = [65, 33, 64];
    assert!(batch * channels * steps >= LARGE);
    let x = draw(&[batch, channels, steps], 15);
    let (weight, bias) = (draw(&[channels], 16), draw(&[channels], 17));
    check(
        &[&x, &weight, &bias],
        || Ok(x.batch_norm_train(Some(&weight), Some(&bias), EPS)?.0),
        |grad| {
            let [x, weight, bias] = [&x, &weight, &bias].map(numbers);
            let channel = |i: usize| i / steps % channels;
            normalized(&x, [&weight, &bias], grad, channels, channel, channel)
        },
    );
}

#[test]
fn embeddings() {
    let [count, width, rows] = [1000, 32, 8192];
    assert!(rows * width >= LARGE);
    let table = draw(&[count, width], 18);
    // Each row often, and none in order.
    let indices: Vec<usize> = (0..rows).map(|i| i * i % 997 % count).collect();
    let given: Vec<i64> = indices.iter().map(|&i| i as i64).collect();
    let given = Tensor::from(given);
    check(
        &[&table],
        || table.embedding(&given, None),
        |grad| {
            let table = numbers(&table);
            let (mut out, mut of_table) = (Vec::new(), vec![0.0; table.len()]);
            for (&index, grad) in indices.iter().zip(grad.chunks(width)) {
                let row = index * width..(index + 1) * width;
                out.extend(&table[row.clone()]);
                of_table[row]
                    .iter_mut()
                    .zip(grad)
                    .for_each(|(sum, grad)| *sum += grad);
            }
            (out, vec![of_table])
        },
    );
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn added(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// The data that the backward pass through an LSTM step needs.
struct Step {
    /// The state before it.
    hidden: Vec<f64>,
    cell: Vec<f64>,
    /// The gates of each row one after the other: input, forget, cell, output.
    gates: Vec<f64>,
    /// The hyperbolic tangent of the cell after it.
    bent: Vec<f64>,
}

#[test]
fn recurrent_layers() {
    let [steps, batch, inputs, width] = [33, 64, 48, 64];
    assert!(steps * batch * width >= LARGE);
    let x = draw(&[steps, batch, inputs], 19);
    let lstm = fork_rng(20, || LSTM::new(inputs, width)).unwrap();
    let weights: Vec<Tensor> = lstm.parameters().map(|p| p.tensor().clone()).collect();
    let leaves: Vec<&Tensor> = [&x].into_iter().chain(&weights).collect();
    let gates = 4 * width;
    check(
        &leaves,
        || Ok(lstm.call(x.clone())?.0),
        |grad| {
            let x = numbers(&x);
            let weights: Vec<Vec<f64>> = weights.iter().map(numbers).collect();
            let [of_input, of_hidden, ..] = &weights[..] else {
                unreachable!()
            };
            let bias = added(&weights[2], &weights[3]);
            let [by_input, by_hidden] =
                [(of_input, inputs), (of_hidden, width)].map(|(w, columns)| transposed(w, columns));
            let (mut hidden, mut cell) = (vec![0.0; batch * width], vec![0.0; batch * width]);
            let (mut out, mut done) = (Vec::new(), Vec::new());
            for x in x.chunks(batch * inputs) {
                let mut sums = added(
                    &product(x, &by_input, [batch, inputs, gates]),
                    &product(&hidden, &by_hidden, [batch, width, gates]),
                );
                for (i, sum) in sums.iter_mut().enumerate() {
                    *sum += bias[i % gates];
                    let is_cell = i % gates / width == 2;
                    *sum = if is_cell { sum.tanh() } else { sigmoid(*sum) };
                }
                let gate =
                    |i: usize, gate: usize| sums[i / width * gates + gate * width + i % width];
                let next: Vec<f64> = (0..batch * width)
                    .map(|i| gate(i, 1) * cell[i] + gate(i, 0) * gate(i, 2))
                    .collect();
                let bent: Vec<f64> = next.iter().map(|cell| cell.tanh()).collect();
                let shown: Vec<f64> = (0..batch * width).map(|i| gate(i, 3) * bent[i]).collect();
                out.extend(&shown);
                done.push(Step {
                    hidden: std::mem::replace(&mut hidden, shown),
                    cell: std::mem::replace(&mut cell, next),
                    gates: sums,
                    bent,
                });
            }
            let mut of_weights: Vec<Vec<f64>> =
                weights.iter().map(|w| vec![0.0; w.len()]).collect();
            let mut of_x = vec![0.0; x.len()];
            let (mut back, mut of_cell) = (vec![0.0; batch * width], vec![0.0; batch * width]);
            for (t, step) in done.iter().enumerate().rev() {
                back = added(&back, &grad[t * batch * width..][..batch * width]);
                let mut slopes = vec![0.0; batch * gates];
                for i in 0..batch * width {
                    let place = |gate: usize| i / width * gates + gate * width + i % width;
                    let [input, forget, new, output] =
                        [0, 1, 2, 3].map(|gate| step.gates[place(gate)]);
                    let bent = step.bent[i];
                    let whole = back[i] * output * (1.0 - bent * bent) + of_cell[i];
                    slopes[place(0)] = whole * new * input * (1.0 - input);
                    slopes[place(1)] = whole * step.cell[i] * forget * (1.0 - forget);
                    slopes[place(2)] = whole * input * (1.0 - new * new);
                    slopes[place(3)] = back[i] * bent * output * (1.0 - output);
                    of_cell[i] = whole * forget;
                }
                let turned = transposed(&slopes, gates);
                let x = &x[t * batch * inputs..][..batch * inputs];
                let of_step = [
                    product(&turned, x, [gates, batch, inputs]),
                    product(&turned, &step.hidden, [gates, batch, width]),
                    turned.chunks(batch).map(|row| row.iter().sum()).collect(),
                ];
                for (sums, of) in of_weights.iter_mut().zip([0, 1, 2, 2]) {
                    *sums = added(sums, &of_step[of]);
                }
                of_x[t * batch * inputs..][..batch * inputs].copy_from_slice(&product(
                    &slopes,
                    of_input,
                    [batch, gates, inputs],
                ));
                back = product(&slopes, of_hidden, [batch, gates, width]);
            }
            (out, [vec![of_x], of_weights].concat())
        },
    );
}
