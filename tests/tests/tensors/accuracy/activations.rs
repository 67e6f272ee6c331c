//! Activations, whose small values below zero must be accurate too.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use module_nn::{Approximate, Tensor};

use super::case::{Case, Element, tensor};
use super::function::{COUNTS, Function, MANY, double, spread};

/// `1/(1 + e⁻ˣ)`
fn share(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `√(1/2π) e^(-x²/2)`
fn density(x: f64) -> f64 {
    0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * (-0.5 * x * x).exp()
}

/// `Φ(x)`, from our kernel for `f64`, which calls libm's `erfc`.
fn probability(x: f64) -> f64 {
    match x {
        0.0 => 0.5,
        _ => double(x, |x| x.gelu(Approximate::None)) / x,
    }
}

/// `2 √(2/π) (x + 0.044715 x³)`
fn inner(x: f64) -> f64 {
    2.0 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * (x + 0.044_715 * x * x * x)
}

fn inner_slope(x: f64) -> f64 {
    2.0 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * (1.0 + 3.0 * 0.044_715 * x * x)
}

/// `ln(1 + eˣ)`
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// `tanh(ln(1 + eˣ))`
fn mish_share(x: f64) -> f64 {
    softplus(x).tanh()
}

/// `1 - tanh²(ln(1 + eˣ))`
fn mish_rest(x: f64) -> f64 {
    softplus(x).cosh().powi(-2)
}

const SELU: [f64; 2] = [1.050_700_987_355_480_5, 1.673_263_242_354_377_2];

fn exponential_unit(x: f64, [alpha, scale]: [f64; 2]) -> f64 {
    scale * if x > 0.0 { x } else { alpha * x.exp_m1() }
}

fn exponential_slope(x: f64, [alpha, scale]: [f64; 2]) -> f64 {
    scale * if x > 0.0 { 1.0 } else { alpha * x.exp() }
}

fn sixth(x: f64) -> f64 {
    (x + 3.0).clamp(0.0, 6.0) / 6.0
}

/// The bounds count roundings of the formula that is named, of half a unit each; `exp`, `ln` and `tanh`, which may be off
/// by 2 units, count 4.
static FUNCTIONS: [Function; 19] = [
    Function::new(
        "relu",
        Tensor::relu,
        [-9.0, 9.0],
        |x| x.max(0.0),
        |x| f64::from(u8::from(x > 0.0)),
        [0.0, 0.0],
    ),
    // The derivative 1 - y² cancels far from 0.
    Function::new(
        "tanh",
        Tensor::tanh,
        [-12.0, 12.0],
        f64::tanh,
        |x| x.cosh().powi(-2),
        [2.0, 6.0],
    )
    .slope_scale(|x| 1.0 + x.tanh().powi(2)),
    // 1 / (1 + exp(-x)), and g y (1 - y)
    Function::new(
        "sigmoid",
        Tensor::sigmoid,
        [-80.0, 80.0],
        share,
        |x| share(x) * share(-x),
        [6.0, 9.0],
    )
    .slope_scale(|x| share(x) * (1.0 + share(x))),
    // x p(|x|) 2^(-x²/2 · log₂ e) / q(|x|): in half units, the fit of p/q is off by 1.6 and that of the power by 1.5, the
    // evaluation of each of the three polynomials by 3, besides the roundings of x²; two products and a quotient follow.
    Function::new(
        "gelu",
        |x| x.gelu(Approximate::None),
        [-12.0, 12.0],
        |x| x * probability(x),
        |x| probability(x) + x * density(x),
        [16.0, 17.0],
    )
    .scale(|x| x * probability(x) * (1.0 + 0.5 * x * x))
    .slope_scale(|x| (probability(x) + x.abs() * density(x)) * (1.0 + 0.5 * x * x)),
    // x / (1 + exp(-u)) with three roundings of u
    Function::new(
        "gelu by tanh",
        |x| x.gelu(Approximate::Tanh),
        [-8.0, 8.0],
        |x| x * share(inner(x)),
        |x| share(inner(x)) * (1.0 + x * inner_slope(x) * share(-inner(x))),
        [9.0, 16.0],
    )
    .scale(|x| x * share(inner(x)) * (1.0 + inner(x).abs()))
    .slope_scale(|x| share(inner(x)) * (1.0 + (x * inner_slope(x)).abs()) * (1.0 + inner(x).abs())),
    // x / (1 + exp(-x)), and s + s x (1 - s), where 1 - s cancels
    Function::new(
        "silu",
        Tensor::silu,
        [-80.0, 80.0],
        |x| x * share(x),
        |x| share(x) * (1.0 + x * share(-x)),
        [6.0, 11.0],
    )
    .slope_scale(|x| share(x) * (1.0 + x.abs())),
    // x w / (w + 2) with w = e (e + 2), which counts 12; the second summand of the derivative counts twice as many
    Function::new(
        "mish",
        Tensor::mish,
        [-80.0, 80.0],
        |x| x * mish_share(x),
        |x| mish_share(x) + x * share(x) * mish_rest(x),
        [14.0, 26.0],
    )
    .slope_scale(|x| mish_share(x) + x.abs() * share(x) * mish_rest(x)),
    Function::new(
        "hardswish",
        Tensor::hardswish,
        [-6.0, 6.0],
        |x| x * sixth(x),
        |x| match x {
            ..=-3.0 => 0.0,
            -3.0..3.0 => x / 3.0 + 0.5,
            _ => 1.0,
        },
        [3.0, 3.0],
    )
    .scale(|x| x * (x.abs() + 3.0) / 6.0)
    .slope_scale(|x| x.abs() / 3.0 + 0.5),
    Function::new(
        "hardsigmoid",
        Tensor::hardsigmoid,
        [-6.0, 6.0],
        sixth,
        |x| f64::from(u8::from(x.abs() < 3.0)) / 6.0,
        [2.0, 1.0],
    )
    .scale(|x| (x.abs() + 3.0) / 6.0),
    // max(x, 0) + ln(1 + u) with u = exp(-|x|), and a logarithm that is corrected by three more roundings
    Function::new(
        "softplus",
        |x| x.softplus(1.0, 20.0),
        [-80.0, 19.0],
        softplus,
        share,
        [12.0, 7.0],
    ),
    // min(x, 0) - ln(1 + exp(-|x|))
    Function::new(
        "log_sigmoid",
        Tensor::log_sigmoid,
        [-80.0, 80.0],
        |x| -softplus(-x),
        |x| share(-x),
        [12.0, 9.0],
    ),
    Function::new(
        "leaky_relu",
        |x| x.leaky_relu(0.01),
        [-9.0, 9.0],
        |x| if x > 0.0 { x } else { 0.01 * x },
        |x| if x > 0.0 { 1.0 } else { 0.01 },
        [2.0, 2.0],
    ),
    // 2t / (1 - t) with t = tanh(x/2), which counts 4 in both, times two numbers
    Function::new(
        "elu",
        |x| x.elu(0.7),
        [-20.0, 9.0],
        |x| exponential_unit(x, [0.7, 1.0]),
        |x| exponential_slope(x, [0.7, 1.0]),
        [12.0, 7.0],
    ),
    Function::new(
        "selu",
        Tensor::selu,
        [-20.0, 9.0],
        |x| exponential_unit(x, [SELU[1], SELU[0]]),
        |x| exponential_slope(x, [SELU[1], SELU[0]]),
        [12.0, 7.0],
    ),
    // The same, and two roundings of x/α, which count in the exponential as often as that is large.
    Function::new(
        "celu",
        |x| x.celu(1.3),
        [-20.0, 9.0],
        |x| if x > 0.0 { x } else { 1.3 * (x / 1.3).exp_m1() },
        |x| if x > 0.0 { 1.0 } else { (x / 1.3).exp() },
        [14.0, 9.0],
    )
    .slope_scale(|x| {
        if x > 0.0 {
            1.0
        } else {
            (x / 1.3).exp() * (1.0 - x / 1.3)
        }
    }),
    // x / (1 + |x|), and g / (1 + |x|)²
    Function::new(
        "softsign",
        Tensor::softsign,
        [-50.0, 50.0],
        |x| x / (1.0 + x.abs()),
        |x| (1.0 + x.abs()).powi(-2),
        [2.0, 6.0],
    ),
    // x - tanh x, which cancels, and tanh² x
    Function::new(
        "tanhshrink",
        Tensor::tanhshrink,
        [-12.0, 12.0],
        |x| x - x.tanh(),
        |x| x.tanh().powi(2),
        [5.0, 10.0],
    )
    .scale(|x| x.abs() + x.tanh().abs())
    .slope_scale(|x| 2.0 + x.tanh().powi(2)),
    Function::new(
        "softshrink",
        |x| x.softshrink(0.5),
        [-9.0, 9.0],
        |x| {
            if x.abs() > 0.5 {
                x - 0.5_f64.copysign(x)
            } else {
                0.0
            }
        },
        |x| f64::from(u8::from(x.abs() > 0.5)),
        [0.5, 0.0],
    ),
    Function::new(
        "hardtanh",
        |x| x.hardtanh(-1.0, 2.0),
        [-9.0, 9.0],
        |x| x.clamp(-1.0, 2.0),
        |x| f64::from(u8::from(x > -1.0 && x < 2.0)),
        [0.0, 0.0],
    ),
];

/// `a / (1 + exp(-b))` of the two halves of the last dimension.
fn gated(rows: usize, width: usize) -> Case {
    let values = spread([-20.0, 20.0], rows * 2 * width);
    Case::new(
        format!("glu {rows} {width}"),
        vec![tensor(values, &[rows, 2 * width])],
        |x| x[0].glu(-1),
        Box::new(move |operands, grad| {
            let (mut out, mut slopes) = (Vec::new(), Vec::new());
            for (row, grad) in operands[0].chunks(2 * width).zip(grad.chunks(width)) {
                let (a, b) = row.split_at(width);
                for (a, b) in a.iter().zip(b) {
                    out.push(Element::near(a * share(*b), a * share(*b), 7.0));
                }
                for (b, grad) in b.iter().zip(grad) {
                    slopes.push(Element::near(grad * share(*b), grad * share(*b), 7.0));
                }
                // g a s (1 - s), where 1 - s cancels
                for ((a, b), grad) in a.iter().zip(b).zip(grad) {
                    let slope = grad * a * share(*b);
                    let scale = slope * (1.0 + share(*b));
                    slopes.push(Element::near(slope * share(-b), scale, 10.0));
                }
            }
            vec![out, slopes]
        }),
    )
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<_> = FUNCTIONS
        .iter()
        .map(|function| function.case(MANY))
        .collect();
    for function in &FUNCTIONS {
        if ["gelu", "silu", "mish"].contains(&function.name) {
            cases.extend(COUNTS.map(|count| function.case(count)));
            cases.push(function.case_of_columns([129, 1025]));
        }
        if function.name == "sigmoid" {
            cases.push(function.case((1 << 20) + 13));
        }
    }
    for (rows, width) in [(1, 1), (7, 17), (33, 1031)] {
        cases.push(gated(rows, width));
    }
    cases
}
