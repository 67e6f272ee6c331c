//! Functions of two elements, also where one operand is broadcast.

use module_nn::{Result, Tensor};

use super::case::{Case, Element, tensor};
use super::function::{COUNTS, MANY, spread};

/// A function of two elements: its value and the derivatives.
struct Function {
    name: &'static str,
    operation: fn(&Tensor, &Tensor) -> Result<Tensor>,
    /// The domains of the operands.
    domains: [[f64; 2]; 2],
    values: fn(f64, f64) -> [f64; 3],
    /// Their scales.
    scales: fn(f64, f64) -> [f64; 3],
    bounds: [f64; 3],
}

const ANY: [f64; 2] = [-9.0, 9.0];
const POSITIVE: [f64; 2] = [0.01, 9.0];

/// Whether `a` is less, and one half of equal numbers.
fn less(a: f64, b: f64) -> f64 {
    match a == b {
        true => 0.5,
        false => f64::from(u8::from(a < b)),
    }
}

fn hypot(a: f64, b: f64) -> [f64; 3] {
    let y = a.hypot(b);
    [y, a / y, b / y]
}

fn atan2(a: f64, b: f64) -> [f64; 3] {
    let square = a * a + b * b;
    [a.atan2(b), b / square, -a / square]
}

/// `a^b`
fn pow(a: f64, b: f64) -> [f64; 3] {
    [a.powf(b), b * a.powf(b - 1.0), a.powf(b) * a.ln()]
}

fn logaddexp(a: f64, b: f64) -> [f64; 3] {
    let share = |a: f64, b: f64| 1.0 / (1.0 + (b - a).exp());
    let sum = a.max(b) + (-(a - b).abs()).exp().ln_1p();
    [sum, share(a, b), share(b, a)]
}

/// The bounds of one operation that is rounded once are ½; the others count the roundings of the formula that is named.
static FUNCTIONS: [Function; 10] = [
    Function {
        name: "add",
        operation: |a, b| a.add(b),
        domains: [ANY; 2],
        values: |a, b| [a + b, 1.0, 1.0],
        scales: |a, b| [a + b, 1.0, 1.0],
        bounds: [0.5, 0.0, 0.0],
    },
    Function {
        name: "sub",
        operation: |a, b| a.sub(b),
        domains: [ANY; 2],
        values: |a, b| [a - b, 1.0, -1.0],
        scales: |a, b| [a - b, 1.0, 1.0],
        bounds: [0.5, 0.0, 0.0],
    },
    Function {
        name: "mul",
        operation: |a, b| a.mul(b),
        domains: [ANY; 2],
        values: |a, b| [a * b, b, a],
        scales: |a, b| [a * b, b, a],
        bounds: [0.5; 3],
    },
    // g / b and -g y / b or -g a / b²
    Function {
        name: "div",
        operation: |a, b| a.div(b),
        domains: [ANY, POSITIVE],
        values: |a, b| [a / b, 1.0 / b, -a / (b * b)],
        scales: |a, b| [a / b, 1.0 / b, a / (b * b)],
        bounds: [0.5, 0.5, 4.0],
    },
    Function {
        name: "maximum",
        operation: |a, b| a.maximum(b),
        domains: [ANY; 2],
        values: |a, b| [a.max(b), less(b, a), less(a, b)],
        scales: |a, b| [a.max(b), 1.0, 1.0],
        bounds: [0.0; 3],
    },
    Function {
        name: "minimum",
        operation: |a, b| a.minimum(b),
        domains: [ANY; 2],
        values: |a, b| [a.min(b), less(a, b), less(b, a)],
        scales: |a, b| [a.min(b), 1.0, 1.0],
        bounds: [0.0; 3],
    },
    // The standard library's function y, and g a / y
    Function {
        name: "hypot",
        operation: |a, b| a.hypot(b),
        domains: [ANY; 2],
        values: hypot,
        scales: hypot,
        bounds: [1.0, 4.0, 4.0],
    },
    // Computed in `f64` and rounded, and g / (a² + b²) · b
    Function {
        name: "atan2",
        operation: |a, b| a.atan2(b),
        domains: [ANY; 2],
        values: atan2,
        scales: atan2,
        bounds: [0.501, 5.0, 5.0],
    },
    // The power and the logarithm, of 1 and 2 units, and b - 1, whose rounding counts as often as its product with the
    // logarithm is large
    Function {
        name: "pow",
        operation: |a, b| a.pow(b),
        domains: [POSITIVE, ANY],
        values: pow,
        scales: |a, b| {
            let [y, of_a, of_b] = pow(a, b);
            let steep = 1.0 + (b.abs() + 1.0) * a.ln().abs();
            [y, (of_a.abs() + a.powf(b - 1.0)) * steep, of_b]
        },
        bounds: [1.0, 5.0, 8.0],
    },
    // max(a, b) + ln(1 + exp(-|a - b|)): 4 of the exponential, 2 of the logarithm, the difference, which counts as often as
    // it is large, and the sum
    Function {
        name: "logaddexp",
        operation: |a, b| a.logaddexp(b),
        domains: [ANY; 2],
        values: logaddexp,
        scales: |a, b| {
            let [_, of_a, of_b] = logaddexp(a, b);
            let steep = 1.0 + (a - b).abs();
            let more = (-(a - b).abs()).exp() * steep;
            [a.max(b).abs() + more, of_a * steep, of_b * steep]
        },
        bounds: [8.0, 8.0, 8.0],
    },
];

impl Function {
    fn case(&'static self, count: usize) -> Case {
        let [a, b] = self.domains;
        let a = spread(a, count);
        // Another pairing of the numbers than their own order.
        let mut b = spread(b, count);
        b.reverse();
        Case::new(
            format!("{} of {count}", self.name),
            vec![tensor(a, &[count]), tensor(b, &[count])],
            |x| (self.operation)(&x[0], &x[1]),
            Box::new(move |operands, grad| {
                let mut results = vec![Vec::new(); 3];
                for ((&a, &b), grad) in operands[0].iter().zip(&operands[1]).zip(grad) {
                    let (values, scales) = ((self.values)(a, b), (self.scales)(a, b));
                    for (i, results) in results.iter_mut().enumerate() {
                        let by = if i == 0 { 1.0 } else { *grad };
                        results.push(Element::near(
                            by * values[i],
                            by * scales[i],
                            self.bounds[i],
                        ));
                    }
                }
                results
            }),
        )
    }
}

/// A row that is multiplied with each row of a matrix: its gradient is a sum over rows.
fn broadcast(rows: usize, columns: usize) -> Case {
    let values = spread(ANY, rows * columns);
    let row = spread(POSITIVE, columns);
    Case::new(
        format!("mul by a row {rows} {columns}"),
        vec![tensor(values, &[rows, columns]), tensor(row, &[columns])],
        |x| x[0].mul(&x[1]),
        Box::new(move |operands, grad| {
            let (x, row) = (&operands[0], &operands[1]);
            let near = |value: f64| Element::near(value, value, 0.5);
            let by_row = |x: &[f64]| {
                let all = x.iter().enumerate();
                all.map(|(i, x)| near(x * row[i % columns])).collect()
            };
            let of_column = |column: usize| {
                let products = (column..x.len()).step_by(columns).map(|i| x[i] * grad[i]);
                let scale = products.clone().map(f64::abs).sum();
                // Half a unit more, as the products are rounded before they are added.
                Element::sum(products.sum(), scale, 1.0 + (rows as f64).sqrt())
            };
            vec![
                by_row(x),
                by_row(grad),
                (0..columns).map(of_column).collect(),
            ]
        }),
    )
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<_> = FUNCTIONS
        .iter()
        .map(|function| function.case(MANY))
        .collect();
    let [add, .., _, _] = &FUNCTIONS;
    cases.extend(COUNTS.map(|count| add.case(count)));
    cases.push(add.case((1 << 20) + 13));
    for (rows, columns) in [(1, 1), (63, 17), (65, 15), (1025, 129), (33, 1031)] {
        cases.push(broadcast(rows, columns));
    }
    cases
}
