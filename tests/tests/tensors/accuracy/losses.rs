//! Losses of logits and of distances, embeddings and sums of rows by index.

use module_nn::functional::{Reduction, binary_cross_entropy_with_logits, ctc_loss, mse_loss};
use module_nn::{CTCLossConfig, CrossEntropyOptions, DType, Tensor};

use super::case::{Case, Element, draw};
use super::tape::{Tape, Var, formula};
use super::terms::{Bound, Weighted, linear};

/// A class for each row, in no order.
fn indices(count: usize, classes: usize) -> Vec<usize> {
    (0..count).map(|i| (i * i + 3 * i) % classes).collect()
}

fn index_tensor(indices: &[usize]) -> Tensor {
    Tensor::from(indices.iter().map(|&i| i as i64).collect::<Vec<_>>())
}

fn cross_entropy(rows: usize, classes: usize, smoothing: f64) -> Case {
    let targets = indices(rows, classes);
    let given = index_tensor(&targets);
    // The exponential and the logarithm count four each; then two differences, two products and the mean. The gradient
    // counts as many.
    let reference = formula(
        20.0,
        classes + rows,
        Box::new(move |tape, x| {
            let own = tape.number(1.0 - smoothing);
            let even = tape.number(smoothing / classes as f64);
            let share = tape.number((rows as f64).recip());
            let losses = x[0].chunks(classes).zip(&targets).map(|(row, &target)| {
                let log = tape.logsumexp(row);
                let all = tape.sum(row.iter().map(|&x| log - x));
                own * (log - row[target]) + even * all
            });
            vec![tape.sum(losses) * share]
        }),
    );
    let operation = move |x: &[Tensor]| {
        let options = CrossEntropyOptions::new().label_smoothing(smoothing);
        x[0].cross_entropy(&given, options)
    };
    let operands = vec![draw(&[rows, classes], 1).mul(3.0).unwrap()];
    let name = format!("cross_entropy {rows} {classes} smoothing {smoothing}");
    Case::new(name, operands, operation, reference)
}

fn squares(count: usize) -> Case {
    // A difference, a square and the mean, and as many of the gradient.
    let reference = formula(
        6.0,
        count,
        Box::new(move |tape, operands| {
            let pairs = operands[0].iter().zip(&operands[1]);
            let distances = pairs.map(|(&x, &y)| x - y).map(|d| (d, d));
            vec![tape.dot(distances) * tape.number((count as f64).recip())]
        }),
    );
    let operands = vec![draw(&[count], 2), draw(&[count], 3)];
    let operation = |x: &[Tensor]| mse_loss(&x[0], &x[1], Reduction::Mean);
    Case::new(format!("mse_loss {count}"), operands, operation, reference)
}

fn binary(count: usize) -> Case {
    let target = draw(&[count], 4).sigmoid().unwrap();
    let targets = target.to_vec::<f32>().unwrap();
    // (1 - y) x + ln(1 + exp(-x)): the exponential and the logarithm count four each; then five sums and products and two
    // of the mean.
    let reference = formula(
        16.0,
        count,
        Box::new(move |tape, x| {
            let (one, zero) = (tape.number(1.0), tape.number(0.0));
            let losses = x[0].iter().zip(&targets).map(|(&x, &target)| {
                let rest = one - tape.number(f64::from(target));
                rest * x + (one + (zero - x).exp()).ln()
            });
            vec![tape.sum(losses) * tape.number((count as f64).recip())]
        }),
    );
    let operation = move |x: &[Tensor]| {
        binary_cross_entropy_with_logits(&x[0], &target, None, Reduction::Mean, None)
    };
    let name = format!("binary_cross_entropy_with_logits {count}");
    Case::new(name, vec![draw(&[count], 5)], operation, reference)
}

/// Sequences of some time steps, with targets of some lengths: the blank is label 0.
fn ctc(labels: usize, sequences: &[(usize, usize)]) -> Case {
    let (times, lengths): (Vec<_>, Vec<_>) = sequences.iter().copied().unzip();
    let (time, batch) = (times.iter().max().copied().unwrap_or(0), times.len());
    let targets = lengths.iter().map(|&length| indices(length, labels - 1));
    let targets: Vec<Vec<_>> = targets
        .map(|target| target.iter().map(|label| label + 1).collect())
        .collect();
    let given = index_tensor(&targets.concat());
    let of_steps = times.clone();
    let steps = formula(
        0.0,
        0,
        Box::new(move |tape, x| {
            let at = |step, sequence, label| x[0][(step * batch + sequence) * labels + label];
            let sequences = of_steps.iter().zip(&targets).enumerate();
            let loss = |(sequence, (&time, target)): (usize, (&usize, &Vec<usize>))| {
                ctc_of(tape, time, target, |step, label| at(step, sequence, label))
            };
            sequences.map(loss).collect()
        }),
    );
    // Everything is computed in `f64`, and rounded once.
    let once = |element: Element| Element::near(element.value, element.value, 0.501);
    let reference = move |operands: &[Vec<f64>], grad: &[f64]| {
        let results = steps(operands, grad).into_iter();
        results
            .map(|elements| elements.into_iter().map(once).collect())
            .collect()
    };
    let operation = move |x: &[Tensor]| {
        let options = CTCLossConfig::new().reduction(Reduction::None);
        ctc_loss(&x[0], &given, &times[..], &lengths[..], &options)
    };
    let operands = vec![draw(&[time, batch, labels], 8).mul(3.0).unwrap()];
    let name = format!("ctc_loss {labels} labels, {sequences:?}");
    Case::new(name, operands, operation, Box::new(reference))
}

/// The loss of one sequence that can give its target.
fn ctc_of<'t>(
    tape: &'t Tape,
    time: usize,
    target: &[usize],
    x: impl Fn(usize, usize) -> Var<'t>,
) -> Var<'t> {
    let states: Vec<usize> = target.iter().flat_map(|&label| [0, label]).collect();
    let states: Vec<usize> = states.into_iter().chain([0]).collect();
    let mut paths: Vec<Option<Var<'t>>> = vec![None; states.len()];
    for step in 0..time {
        let next = states.iter().enumerate().map(|(state, &label)| {
            let emitted = x(step, label);
            if step == 0 {
                return (state < 2).then_some(emitted);
            }
            let skips = state > 1 && label != 0 && label != states[state - 2];
            let first = state.saturating_sub(if skips { 2 } else { 1 });
            let before: Vec<_> = paths[first..=state].iter().filter_map(|x| *x).collect();
            (!before.is_empty()).then(|| tape.logsumexp(&before) + emitted)
        });
        paths = next.collect();
    }
    let ends: Vec<_> = paths.iter().rev().take(2).filter_map(|x| *x).collect();
    tape.number(0.0) - tape.logsumexp(&ends)
}

fn embedding([count, width, rows]: [usize; 3]) -> Case {
    let chosen = indices(rows, count);
    let given = index_tensor(&chosen);
    let copies: Weighted = Box::new(move |visit| {
        for (row, &index) in chosen.iter().enumerate() {
            (0..width).for_each(|i| visit(row * width + i, index * width + i, 1.0));
        }
    });
    let reference = linear(Bound::Sums(0.0), copies);
    let operation = move |x: &[Tensor]| x[0].embedding(&given, None);
    let name = format!("embedding {count} {width} of {rows}");
    Case::new(name, vec![draw(&[count, width], 6)], operation, reference)
}

/// Rows that are added to those of a matrix of zeros.
fn index_add([count, width, rows]: [usize; 3]) -> Case {
    let chosen = indices(rows, count);
    let given = index_tensor(&chosen);
    let copies: Weighted = Box::new(move |visit| {
        for (row, &index) in chosen.iter().enumerate() {
            (0..width).for_each(|i| visit(index * width + i, row * width + i, 1.0));
        }
    });
    let reference = linear(Bound::Sums(0.0), copies);
    let operation = move |x: &[Tensor]| {
        let zeros = Tensor::zeros([count, width], DType::F32)?;
        zeros.index_add(0, &given, &x[0])
    };
    let name = format!("index_add {count} {width} of {rows}");
    Case::new(name, vec![draw(&[rows, width], 7)], operation, reference)
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (rows, classes) in [(1, 2), (7, 17), (65, 128), (33, 1025), (1031, 127)] {
        cases.extend([0.0, 0.1].map(|smoothing| cross_entropy(rows, classes, smoothing)));
    }
    for count in [1, 17, 1025, 131_085] {
        cases.extend([squares(count), binary(count)]);
    }
    let long = [(90, 33), (71, 15), (90, 16), (40, 17), (90, 0), (12, 6)];
    cases.extend([ctc(2, &[(1, 1)]), ctc(3, &[(5, 2), (1, 0)]), ctc(9, &long)]);
    for sizes in [[3, 1, 5], [7, 17, 33], [1000, 31, 1025], [17, 1025, 1025]] {
        cases.extend([embedding(sizes), index_add(sizes)]);
    }
    cases
}
