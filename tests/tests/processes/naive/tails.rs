//! Small values of unary functions, compared element by element, because an error in a value of 1e-8 is invisible next to a
//! value of 1.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use module_core::Approximate;
use module_nn::prelude::*;

use super::numbers;

/// The dtypes, the tolerance for each element, and the values that are too small for it: near the smallest numbers,
/// intermediate results leave the range of the dtype.
const DTYPES: [(DType, f64, f64); 2] = [(DType::F32, 1e-5, 1e-36), (DType::F64, 1e-12, 1e-306)];

#[track_caller]
fn near(actual: f64, expected: f64, (dtype, limit, least): (DType, f64, f64), what: &str) {
    let bound = limit * expected.abs();
    let is_near = match expected.abs() < least {
        true => actual.abs() < 2.0 * least,
        false => (actual - expected).abs() <= bound,
    };
    assert!(
        is_near,
        "{what}, {dtype}: {actual:e} instead of {expected:e}"
    );
}

/// A function's results for some numbers, and the gradients of the sum of the results that `chosen` selects.
fn both(
    numbers_of: &[f64],
    dtype: DType,
    function: impl Fn(&Tensor) -> Result<Tensor>,
    chosen: impl Fn(&Tensor) -> Result<Tensor>,
) -> (Vec<f64>, Vec<f64>) {
    let x = Tensor::from(numbers_of.to_vec()).to_dtype(dtype).unwrap();
    let x = x.with_grad().unwrap();
    let y = function(&x).unwrap();
    chosen(&y).unwrap().sum(..).unwrap().backward().unwrap();
    (numbers(&y), numbers(&x.grad().unwrap()))
}

fn from_80_below() -> Vec<f64> {
    (0..=79 * 16).map(|i| -80.0 + f64::from(i) / 16.0).collect()
}

/// `eˣ/(1 + eˣ)`
fn share(x: f64) -> f64 {
    x.exp() / (1.0 + x.exp())
}

/// Twice `√(2/π) (x + 0.044715 x³)`, and its derivative.
fn inner(x: f64) -> (f64, f64) {
    let scale = 2.0 * (2.0 / PI).sqrt();
    (
        scale * (x + 0.044_715 * x * x * x),
        scale * (1.0 + 3.0 * 0.044_715 * x * x),
    )
}

const SELU: [f64; 2] = [1.050_700_987_355_480_5, 1.673_263_242_354_377_2];

/// A name, our function, its formula and the derivative's.
type Case = (
    &'static str,
    fn(&Tensor) -> Result<Tensor>,
    fn(f64) -> f64,
    fn(f64) -> f64,
);

#[test]
fn the_tails_of_activations() {
    let cases: [Case; 8] = [
        (
            "sigmoid",
            |x| x.sigmoid(),
            share,
            |x| x.exp() / (1.0 + x.exp()).powi(2),
        ),
        (
            "silu",
            |x| x.silu(),
            |x| x * share(x),
            |x| share(x) * (1.0 + x / (1.0 + x.exp())),
        ),
        (
            "elu",
            |x| x.elu(0.7),
            |x| 0.7 * x.exp_m1(),
            |x| 0.7 * x.exp(),
        ),
        (
            "celu",
            |x| x.celu(4.0),
            |x| 4.0 * (x / 4.0).exp_m1(),
            |x| (x / 4.0).exp(),
        ),
        (
            "selu",
            |x| x.selu(),
            |x| SELU[0] * SELU[1] * x.exp_m1(),
            |x| SELU[0] * SELU[1] * x.exp(),
        ),
        (
            "softplus",
            |x| x.softplus(1.0, 20.0),
            |x| x.exp().ln_1p(),
            share,
        ),
        (
            "mish",
            |x| x.mish(),
            |x| x * x.exp().ln_1p().tanh(),
            |x| {
                let bent = x.exp().ln_1p().tanh();
                bent + x * share(x) * (1.0 - bent * bent)
            },
        ),
        (
            "gelu by tanh",
            |x| x.gelu(Approximate::Tanh),
            |x| x * share(inner(x).0),
            |x| {
                let (u, slope) = inner(x);
                share(u) * (1.0 + x * slope / (1.0 + u.exp()))
            },
        ),
    ];
    let values = from_80_below();
    for of in DTYPES {
        for (name, function, formula, of_slope) in cases {
            let (outs, slopes) = both(&values, of.0, function, |y| Ok(y.clone()));
            for ((&x, out), slope) in values.iter().zip(outs).zip(slopes) {
                near(out, formula(x), of, &format!("{name} of {x}"));
                // Between them some slopes pass through 0.
                if x <= -2.0 {
                    near(slope, of_slope(x), of, &format!("slope of {name} at {x}"));
                }
            }
        }
    }
}

#[test]
fn the_tail_of_softmax() {
    let values = from_80_below();
    let last = values.len() - 1;
    let sum: f64 = values.iter().map(|x| (x - values[last]).exp()).sum();
    let of_last = |y: &Tensor| y.narrow(0, last..last + 1);
    for of in DTYPES {
        let (shares, slopes) = both(&values, of.0, |x| x.softmax(0), of_last);
        let (logs, slopes_of_logs) = both(&values, of.0, |x| x.log_softmax(0), of_last);
        for (i, x) in values.iter().enumerate() {
            let expected = (x - values[last]).exp() / sum;
            let own = f64::from(u8::from(i == last));
            near(shares[i], expected, of, &format!("softmax of {x}"));
            let slope = expected * (own - 1.0 / sum);
            near(slopes[i], slope, of, &format!("slope of softmax at {x}"));
            let log = x - values[last] - sum.ln();
            near(logs[i], log, of, &format!("log_softmax of {x}"));
            let slope = own - expected;
            near(
                slopes_of_logs[i],
                slope,
                of,
                &format!("slope of log_softmax at {x}"),
            );
        }
    }
}

/// `1 - erf(x)` for an `x` of at least 2, by its continued fraction.
fn erfc(x: f64) -> f64 {
    let fraction = (1..=200)
        .rev()
        .fold(x, |below, k| x + 0.5 * f64::from(k) / below);
    (-x * x).exp() / (PI.sqrt() * fraction)
}

/// `x Φ(x)` and its derivative.
#[test]
fn the_tail_of_gelu() {
    let values: Vec<f64> = (0..=35 * 64).map(|i| -38.0 + f64::from(i) / 64.0).collect();
    for of in DTYPES {
        let gelu = |x: &Tensor| x.gelu(Approximate::None);
        let (outs, slopes) = both(&values, of.0, gelu, |y| Ok(y.clone()));
        for ((&x, out), slope) in values.iter().zip(outs).zip(slopes) {
            let share = 0.5 * erfc(-x * FRAC_1_SQRT_2);
            near(out, x * share, of, &format!("gelu of {x}"));
            let expected = share + x * (-0.5 * x * x).exp() / (2.0 * PI).sqrt();
            near(slope, expected, of, &format!("slope of gelu at {x}"));
        }
    }
}
