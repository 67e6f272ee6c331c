//! Activations.

use super::*;
use crate::fused::huber;

/// Called by the test that checks every gradient.
pub(super) fn check_all() {
    check_unary("selu", Tensor::selu);
    check_unary("celu", |x| x.celu(0.5));
    check_unary("celu", |x| x.celu(-1.5));
    check_unary("mish", Tensor::mish);
    check_unary("hardswish", |x| x.mul(2.5)?.hardswish());
    check_unary("hardsigmoid", |x| {
        x.mul(2.5)?.square()?.sub(3.0)?.hardsigmoid()
    });
    check_unary("hardtanh", |x| x.square()?.hardtanh(0.25, 2.0));
    check_unary("relu6", |x| x.square()?.mul(3.0)?.relu6());
    check_unary("hardshrink", |x| x.square()?.sub(1.0)?.hardshrink(0.5));
    check_unary("softshrink", |x| x.square()?.sub(1.0)?.softshrink(0.5));
    check_unary("threshold", |x| x.square()?.threshold(1.0, -0.5));
    check_unary("huber", |x| huber(&x.square()?.sub(1.0)?, 0.7, 0.7));
    check_unary("huber", |x| huber(&x.square()?.sub(1.0)?, 0.4, -1.5));
    check_unary("log_sigmoid", Tensor::log_sigmoid);
    check_unary("softsign", Tensor::softsign);
    check_unary("tanhshrink", Tensor::tanhshrink);
    check_unary("alpha_dropout", |x| {
        fork_rng(3, || x.alpha_dropout(0.3))?.square()
    });
    check("feature_dropout", &[&[2, 3, 2]], |x| {
        let y = fork_rng(3, || x[0].feature_dropout(0.3))?;
        y.add(&fork_rng(4, || x[0].feature_alpha_dropout(0.3))?)?
            .square()
    });
    for (shape, count) in [
        (&[2, 3, 2][..], 3),
        (&[2, 3], 1),
        (&[3], 1),
        (&[], 1),
        (&[0, 2], 2),
    ] {
        check("prelu", &[shape, &[count]], |x| x[0].prelu(&x[1])?.square());
    }
    for dim in [0, -1] {
        check("glu", &[&[2, 4]], |x| x[0].glu(dim));
    }
}

fn special() -> Tensor {
    Tensor::from([
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        1e-300,
        -1e-300,
        0.5,
        -0.5,
        3.0,
        -3.0,
        6.0,
        1.0,
        -1.0,
        700.0,
        -700.0,
    ])
}

/// A NaN is never hidden, and new ones only arise from `∞ · 0`, as in PyTorch.
#[test]
fn nan_stays_nan() {
    type Activation = fn(&Tensor) -> Result<Tensor>;
    let activations: [(&str, Activation); 14] = [
        ("relu", Tensor::relu),
        ("selu", Tensor::selu),
        ("celu", |x| x.celu(0.5)),
        ("mish", Tensor::mish),
        ("hardswish", Tensor::hardswish),
        ("hardsigmoid", Tensor::hardsigmoid),
        ("hardtanh", |x| x.hardtanh(-1.0, 1.0)),
        ("relu6", Tensor::relu6),
        ("hardshrink", |x| x.hardshrink(0.5)),
        ("softshrink", |x| x.softshrink(0.5)),
        ("threshold", |x| x.threshold(0.5, 1.0)),
        ("log_sigmoid", Tensor::log_sigmoid),
        ("softsign", Tensor::softsign),
        ("softplus", |x| x.softplus(1.0, 20.0)),
    ];
    for (name, activation) in activations {
        let (allowed, x) = match name {
            "mish" | "hardswish" => (&[0, 2][..], special()),
            "softsign" => (&[0, 1, 2][..], special()),
            _ => (&[0][..], special()),
        };
        for dtype in [DType::F64, DType::F32, DType::BF16] {
            let y = activation(&x.to_dtype(dtype).unwrap()).unwrap();
            let nan = y.isnan().unwrap().to_vec::<bool>().unwrap();
            let found: Vec<usize> = (0..nan.len()).filter(|&i| nan[i]).collect();
            assert_eq!(found, allowed, "{name} of {dtype}");
        }
    }
}

/// Near 0 and far from it, to the last digits.
#[test]
fn exponentials_are_accurate_to_the_last_digits() {
    let points: Vec<f64> = (-400..400).map(|i| f64::from(i) / 16.0).collect();
    let tiny = points.iter().map(|x| x * 1e-6);
    let points: Vec<f64> = points.iter().copied().chain(tiny).collect();
    let x = Tensor::from_vec(points.clone(), points.len()).unwrap();
    let near = |name: &str, y: Result<Tensor>, expected: &dyn Fn(f64) -> f64| {
        for (y, &x) in y.unwrap().to_vec::<f64>().unwrap().into_iter().zip(&points) {
            let expected = expected(x);
            let distance = (y - expected).abs();
            assert!(
                distance <= (8.0 + 4.0 * x.abs()) * f64::EPSILON * expected.abs(),
                "{name} {x}: {y} {expected}"
            );
        }
    };
    let bent = |alpha: f64, x: f64| {
        if x < 0.0 {
            alpha * (x / alpha).exp_m1()
        } else {
            x
        }
    };
    near("celu", x.celu(0.75), &|x| bent(0.75, x));
    near("celu", x.celu(-0.75), &|x| bent(-0.75, x));
    near("softplus", x.softplus(1.0, 50.0), &|x| {
        x.max(0.0) + (-x.abs()).exp().ln_1p()
    });
    near("log_sigmoid", x.log_sigmoid(), &|x| {
        x.min(0.0) - (-x.abs()).exp().ln_1p()
    });
    near("mish", x.mish(), &|x| {
        x * (x.max(0.0) + (-x.abs()).exp().ln_1p()).tanh()
    });
}

#[test]
fn what_does_not_fit_is_named() {
    let x = numbers([2, 3], 0);
    for (result, message) in [
        (
            x.glu(1),
            "glu: expected an even size in dimension 1, got shape [2, 3]",
        ),
        (
            Tensor::from(1.0_f64).glu(0),
            "glu: expected an even size in dimension 0, got shape []",
        ),
        (x.celu(0.0), "celu: alpha = 0: must not be 0"),
        (
            x.hardtanh(1.0, 0.5),
            "hardtanh: min_val = 1: must not be above max_val = 0.5",
        ),
        (
            x.softshrink(-0.5),
            "softshrink: lambd = -0.5: must be at least 0",
        ),
        (
            x.prelu(&numbers([2], 0)),
            "prelu: [2, 3] and [2] do not fit: the weight must have 1 or 3 elements, one for each channel",
        ),
        (
            x.prelu(&numbers([1, 3], 0)),
            "prelu: expected a weight of at most one dimension, got shape [1, 3]",
        ),
    ] {
        assert_eq!(result.unwrap_err().to_string(), message);
    }
}
