//! Steps of recurrent layers, with the gradients of the states and of the weight.

use module_nn::Tensor;
use module_nn::fused::{RecurrentOp, RecurrentOptions, recurrent};

use super::case::{Case, draw};
use super::tape::{Tape, Var, formula};

const STEPS: usize = 4;

/// The next states `h` and `c`, from the sums of the input, those of the state and the states before.
fn step<'t>(
    tape: &'t Tape,
    op: RecurrentOp,
    input: &[Var<'t>],
    sums: &[Var<'t>],
    [h, c]: [Var<'t>; 2],
) -> [Var<'t>; 2] {
    let gate = |i: usize| input[i] + sums[i];
    match op {
        RecurrentOp::Lstm => {
            let (taken, kept, shown) = (gate(0).sigmoid(), gate(1).sigmoid(), gate(3).sigmoid());
            let c = kept * c + taken * gate(2).tanh();
            [shown * c.tanh(), c]
        }
        RecurrentOp::Gru => {
            let (reset, kept) = (gate(0).sigmoid(), gate(1).sigmoid());
            let new = (input[2] + reset * sums[2]).tanh();
            [(tape.number(1.0) - kept) * new + kept * h, c]
        }
        _ => [gate(0).tanh(), c],
    }
}

fn case(op: RecurrentOp, gates: usize, batch: usize, width: usize) -> Case {
    // A step has a sum over the width, two functions that count six each, and five other products and sums; so has its
    // gradient. Steps follow each other, so that their bounds are added.
    let reference = formula(
        34.0 * STEPS as f64,
        4 * STEPS * STEPS * width.max(batch),
        Box::new(move |tape, operands| {
            let [input, weight] = [0, 1].map(|i| &operands[i]);
            let mut hidden = operands[2].clone();
            let mut cell = operands.get(3).unwrap_or(&hidden).clone();
            let mut out = Vec::new();
            for row in 0..STEPS * batch {
                let first = row % batch * width;
                let before = hidden[first..first + width].to_vec();
                for i in 0..width {
                    let sum = |gate: usize| {
                        let weight = &weight[(gate * width + i) * width..][..width];
                        tape.dot(weight.iter().copied().zip(before.iter().copied()))
                    };
                    let sums: Vec<_> = (0..gates).map(sum).collect();
                    let at = |gate: usize| input[(row * gates + gate) * width + i];
                    let inputs: Vec<_> = (0..gates).map(at).collect();
                    let states = [before[i], cell[first + i]];
                    [hidden[first + i], cell[first + i]] = step(tape, op, &inputs, &sums, states);
                }
                out.extend_from_slice(&hidden[first..first + width]);
            }
            out
        }),
    );
    let spread = 1.0 / (width as f64).sqrt();
    let mut operands = vec![
        draw(&[STEPS * batch, gates * width], 1),
        draw(&[gates * width, width], 2).mul(spread).unwrap(),
        draw(&[batch, width], 3),
    ];
    if op == RecurrentOp::Lstm {
        operands.push(draw(&[batch, width], 4));
    }
    let operation = move |x: &[Tensor]| {
        let sizes = [batch; STEPS];
        let options = RecurrentOptions::new(op, &x[1], &sizes);
        Ok(recurrent(&x[0], &x[2], x.get(3), &options)?.output)
    };
    let name = format!("{op:?} of {batch} {width}");
    Case::new(name, operands, operation, reference)
}

/// Around the panels of 16 columns and tiles of 6 rows.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (batch, width) in [(1, 3), (5, 7), (6, 16), (7, 17), (13, 33), (65, 31)] {
        cases.push(case(RecurrentOp::Lstm, 4, batch, width));
        cases.push(case(RecurrentOp::Gru, 3, batch, width));
        cases.push(case(RecurrentOp::Tanh, 1, batch, width));
    }
    cases
}
