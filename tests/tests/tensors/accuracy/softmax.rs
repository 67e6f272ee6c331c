//! Softmax, its logarithm and the logarithm of sums of exponentials.

use module_nn::{Result, Tensor};

use super::case::{Case, draw};
use super::lanes::Lanes;
use super::tape::{LaneFormula, formula_of_lanes};

/// Around the eight rows that go through the steps together, blocks of 1,024 elements and tiles of 128 columns.
const SHAPES: [[usize; 3]; 13] = [
    [3, 1, 1],
    [9, 7, 1],
    [17, 16, 1],
    [7, 33, 1],
    [5, 255, 1],
    [3, 1023, 1],
    [2, 1025, 1],
    [1, 4099, 1],
    [1031, 1025, 1],
    [1, 5, 127],
    [2, 9, 129],
    [1, 33, 257],
    [41, 7, 3],
];

fn case(name: &str, lanes: Lanes) -> Case {
    let of_lane: LaneFormula = match name {
        "softmax" => Box::new(|tape, x| tape.softmax(x)),
        "log_softmax" => Box::new(|tape, x| {
            let log = tape.logsumexp(x);
            x.iter().map(|&x| x - log).collect()
        }),
        _ => Box::new(|tape, x| vec![tape.logsumexp(x)]),
    };
    // The exponential counts four, and so does the logarithm; three subtractions, a quotient and a product, and as many of
    // the gradient.
    let reference = formula_of_lanes(20.0, lanes.size, lanes, of_lane);
    let operands = vec![draw(&lanes.shape(), 1).mul(3.0).unwrap()];
    let operation: fn(&[Tensor]) -> Result<Tensor> = match name {
        "softmax" => |x| x[0].softmax(1),
        "log_softmax" => |x| x[0].log_softmax(1),
        _ => |x| x[0].logsumexp(1),
    };
    Case::new(
        format!("{name} {:?}", lanes.shape()),
        operands,
        operation,
        reference,
    )
}

pub(crate) fn cases() -> Vec<Case> {
    let names = ["softmax", "log_softmax", "logsumexp"];
    let all = SHAPES.iter().map(|&shape| Lanes::new(shape));
    all.flat_map(|lanes| names.map(|name| case(name, lanes)))
        .collect()
}
