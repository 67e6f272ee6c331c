//! Mathematical functions of one element.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10};

use module_nn::Tensor;

use super::case::Case;
use super::function::{COUNTS, Function, MANY, double};

/// The bounds of values: ½ where the function is one rounded operation, or computed in `f64` and rounded (with a little for
/// the error in `f64`); 1 for those of the standard library; 2 as `vector.rs` documents. The bounds of gradients count the
/// roundings of the formula that is named.
static FUNCTIONS: &[Function] = &[
    Function::new(
        "neg",
        Tensor::neg,
        [-9.0, 9.0],
        |x| -x,
        |_| -1.0,
        [0.0, 0.0],
    ),
    Function::new(
        "abs",
        Tensor::abs,
        [-9.0, 9.0],
        f64::abs,
        f64::signum,
        [0.0, 0.0],
    ),
    Function::new(
        "square",
        Tensor::square,
        [-9.0, 9.0],
        |x| x * x,
        |x| 2.0 * x,
        [0.5, 1.0],
    ),
    // g y, where y may be off by 2, which is 4 half units.
    Function::new(
        "exp",
        Tensor::exp,
        [-80.0, 80.0],
        f64::exp,
        f64::exp,
        [2.0, 5.0],
    ),
    Function::new(
        "log",
        Tensor::log,
        [1e-9, 1e9],
        f64::ln,
        f64::recip,
        [2.0, 0.5],
    ),
    // g / 2y
    Function::new(
        "sqrt",
        Tensor::sqrt,
        [1e-9, 1e9],
        f64::sqrt,
        |x| 0.5 / x.sqrt(),
        [0.5, 2.0],
    ),
    // -g y²
    Function::new(
        "reciprocal",
        Tensor::reciprocal,
        [0.01, 100.0],
        f64::recip,
        |x| -1.0 / (x * x),
        [0.5, 4.0],
    ),
    // -½ g y³, where y has two roundings
    Function::new(
        "rsqrt",
        Tensor::rsqrt,
        [0.01, 100.0],
        |x| x.sqrt().recip(),
        |x| -0.5 * x.powf(-1.5),
        [1.5, 9.0],
    ),
    // g / (1 + x)
    Function::new(
        "log1p",
        Tensor::log1p,
        [-0.9, 100.0],
        f64::ln_1p,
        |x| 1.0 / (1.0 + x),
        [2.0, 2.0],
    ),
    // g (y + 1), which cancels below zero, where y may be off by 2
    Function::new(
        "expm1",
        Tensor::expm1,
        [-20.0, 20.0],
        f64::exp_m1,
        f64::exp,
        [2.0, 6.0],
    )
    .slope_scale(|x| 1.0 + x.exp_m1().abs()),
    // g 2/√π exp(-x²), where the exponential counts 4, and the rounding of its argument as often as that is large
    Function::new(
        "erf",
        Tensor::erf,
        [-4.0, 4.0],
        erf,
        |x| FRAC_2_SQRT_PI * (-x * x).exp(),
        [2.0, 7.0],
    )
    .slope_scale(|x| (1.0 + x * x) * (-x * x).exp() * FRAC_2_SQRT_PI),
    // -g 2/√π exp(-x²), as for erf
    Function::new(
        "erfc",
        Tensor::erfc,
        [-4.0, 9.0],
        |x| double(x, Tensor::erfc),
        |x| -FRAC_2_SQRT_PI * (-x * x).exp(),
        [0.501, 7.0],
    )
    .slope_scale(|x| (1.0 + x * x) * (-x * x).exp() * FRAC_2_SQRT_PI),
    // g cos x
    Function::new(
        "sin",
        Tensor::sin,
        [-30.0, 30.0],
        f64::sin,
        f64::cos,
        [0.501, 3.0],
    ),
    Function::new(
        "cos",
        Tensor::cos,
        [-30.0, 30.0],
        f64::cos,
        |x| -x.sin(),
        [0.501, 3.0],
    ),
    // g (1 + y²)
    Function::new(
        "tan",
        Tensor::tan,
        [-1.5, 1.5],
        f64::tan,
        |x| 1.0 + x.tan().powi(2),
        [0.501, 5.0],
    ),
    // g / √(1 - x²), which cancels
    Function::new(
        "asin",
        Tensor::asin,
        [-0.99, 0.99],
        f64::asin,
        |x| 1.0 / (1.0 - x * x).sqrt(),
        [0.501, 4.0],
    )
    .slope_scale(|x| (1.0 - x * x).powf(-1.5)),
    Function::new(
        "acos",
        Tensor::acos,
        [-0.99, 0.99],
        f64::acos,
        |x| -1.0 / (1.0 - x * x).sqrt(),
        [0.501, 4.0],
    )
    .slope_scale(|x| (1.0 - x * x).powf(-1.5)),
    // g / (1 + x²)
    Function::new(
        "atan",
        Tensor::atan,
        [-50.0, 50.0],
        f64::atan,
        |x| 1.0 / (1.0 + x * x),
        [0.501, 3.0],
    ),
    Function::new(
        "sinh",
        Tensor::sinh,
        [-20.0, 20.0],
        f64::sinh,
        f64::cosh,
        [0.501, 2.0],
    ),
    Function::new(
        "cosh",
        Tensor::cosh,
        [-20.0, 20.0],
        f64::cosh,
        f64::sinh,
        [0.501, 2.0],
    ),
    // g / √(x² + 1)
    Function::new(
        "asinh",
        Tensor::asinh,
        [-50.0, 50.0],
        f64::asinh,
        |x| 1.0 / (x * x + 1.0).sqrt(),
        [0.501, 4.0],
    ),
    // g / √(x² - 1), which cancels
    Function::new(
        "acosh",
        Tensor::acosh,
        [1.01, 50.0],
        f64::acosh,
        |x| 1.0 / (x * x - 1.0).sqrt(),
        [0.501, 4.0],
    )
    .slope_scale(|x| x * x * (x * x - 1.0).powf(-1.5)),
    // g / (1 - x²)
    Function::new(
        "atanh",
        Tensor::atanh,
        [-0.99, 0.99],
        f64::atanh,
        |x| 1.0 / (1.0 - x * x),
        [0.501, 3.0],
    )
    .slope_scale(|x| (1.0 - x * x).powi(-2)),
    // g / (x ln 2)
    Function::new(
        "log2",
        Tensor::log2,
        [1e-9, 1e9],
        f64::log2,
        |x| 1.0 / (x * LN_2),
        [0.501, 3.0],
    ),
    Function::new(
        "log10",
        Tensor::log10,
        [1e-9, 1e9],
        f64::log10,
        |x| 1.0 / (x * LN_10),
        [0.501, 3.0],
    ),
    // g y ln 2, where y may be off by 2
    Function::new(
        "exp2",
        Tensor::exp2,
        [-80.0, 80.0],
        f64::exp2,
        |x| x.exp2() * LN_2,
        [2.0, 7.0],
    ),
    // g ½√π exp(y²), where the exponential counts 4, and the rounding of its argument as often as that is large
    Function::new(
        "erfinv",
        Tensor::erfinv,
        [-0.99, 0.99],
        |x| double(x, Tensor::erfinv),
        erfinv_slope,
        [0.501, 8.0],
    )
    .slope_scale(|x| (1.0 + 2.0 * double(x, Tensor::erfinv).powi(2)) * erfinv_slope(x)),
    Function::new(
        "lgamma",
        Tensor::lgamma,
        [0.01, 50.0],
        |x| double(x, Tensor::lgamma),
        digamma,
        [0.501, 2.0],
    ),
    Function::new(
        "digamma",
        Tensor::digamma,
        [0.01, 50.0],
        digamma,
        |x| double(x, |x| x.polygamma(1)),
        [0.501, 2.0],
    ),
    Function::new(
        "floor",
        Tensor::floor,
        [-9.0, 9.0],
        f64::floor,
        |_| 0.0,
        [0.0, 0.0],
    ),
    Function::new(
        "ceil",
        Tensor::ceil,
        [-9.0, 9.0],
        f64::ceil,
        |_| 0.0,
        [0.0, 0.0],
    ),
    Function::new(
        "round",
        Tensor::round,
        [-9.0, 9.0],
        f64::round_ties_even,
        |_| 0.0,
        [0.0, 0.0],
    ),
    Function::new(
        "trunc",
        Tensor::trunc,
        [-9.0, 9.0],
        f64::trunc,
        |_| 0.0,
        [0.0, 0.0],
    ),
    // x · x · x, and g 3 x²
    Function::new(
        "pow 3",
        |x| x.pow(3.0),
        [-9.0, 9.0],
        |x| x.powi(3),
        |x| 3.0 * x * x,
        [1.5, 3.0],
    ),
    // The rounding of the exponent counts as often as its product with the logarithm is large.
    Function::new(
        "pow 1.7",
        |x| x.pow(1.7),
        [1e-6, 1e6],
        |x| x.powf(1.7),
        |x| 1.7 * x.powf(0.7),
        [1.0, 5.0],
    )
    .scale(|x| (1.0 + 1.7 * x.ln().abs()) * x.powf(1.7))
    .slope_scale(|x| (1.0 + 1.7 * x.ln().abs()) * x.powf(0.7) * 1.7),
];

fn erf(x: f64) -> f64 {
    double(x, Tensor::erf)
}

fn digamma(x: f64) -> f64 {
    double(x, Tensor::digamma)
}

fn erfinv_slope(x: f64) -> f64 {
    double(x, Tensor::erfinv).powi(2).exp() / FRAC_2_SQRT_PI
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<_> = FUNCTIONS
        .iter()
        .map(|function| function.case(MANY))
        .collect();
    for name in ["exp", "log", "sin", "tan", "sqrt"] {
        let mut named = FUNCTIONS.iter().filter(|function| function.name == name);
        let function = named.next().unwrap();
        cases.extend(COUNTS.map(|count| function.case(count)));
        cases.push(function.case_of_columns([129, 1025]));
        if name == "exp" {
            cases.push(function.case((1 << 20) + 13));
        }
    }
    cases
}
