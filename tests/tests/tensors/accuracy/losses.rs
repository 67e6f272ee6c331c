//! Losses of logits and of distances, embeddings and sums of rows by index.

use module_nn::functional::{Reduction, binary_cross_entropy_with_logits, mse_loss};
use module_nn::{CrossEntropyOptions, DType, Tensor};

use super::case::{Case, draw};
use super::tape::formula;
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
    for sizes in [[3, 1, 5], [7, 17, 33], [1000, 31, 1025], [17, 1025, 1025]] {
        cases.extend([embedding(sizes), index_add(sizes)]);
    }
    cases
}
