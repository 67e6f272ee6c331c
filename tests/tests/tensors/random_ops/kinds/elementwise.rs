//! Elementwise operations.

use super::*;

type One = (&'static str, fn(&Tensor) -> Result<Tensor>, fn(f64) -> f64);

const UNARY: [One; 21] = [
    ("neg", Tensor::neg, |x| -x),
    ("sin", Tensor::sin, f64::sin),
    ("cos", Tensor::cos, f64::cos),
    ("tanh", Tensor::tanh, f64::tanh),
    ("exp", Tensor::exp, f64::exp),
    ("expm1", Tensor::expm1, f64::exp_m1),
    ("abs", Tensor::abs, f64::abs),
    ("square", Tensor::square, |x| x * x),
    ("relu", Tensor::relu, |x| if x > 0.0 { x } else { 0.0 }),
    ("sigmoid", Tensor::sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
    ("silu", Tensor::silu, |x| x / (1.0 + (-x).exp())),
    (
        "softplus",
        |x| x.softplus(1.0, 20.0),
        |x| (1.0 + x.exp()).ln(),
    ),
    (
        "leaky_relu",
        |x| x.leaky_relu(0.1),
        |x| if x > 0.0 { x } else { 0.1 * x },
    ),
    (
        "elu",
        |x| x.elu(1.0),
        |x| if x > 0.0 { x } else { x.exp() - 1.0 },
    ),
    (
        "log",
        |x| x.abs()?.add(0.5)?.log(),
        |x| (x.abs() + 0.5).ln(),
    ),
    (
        "sqrt",
        |x| x.abs()?.add(0.5)?.sqrt(),
        |x| (x.abs() + 0.5).sqrt(),
    ),
    (
        "reciprocal",
        |x| x.abs()?.add(0.5)?.reciprocal(),
        |x| 1.0 / (x.abs() + 0.5),
    ),
    ("clamp", |x| x.clamp(-1.0, 1.5), |x| x.clamp(-1.0, 1.5)),
    ("pow", |x| x.pow(3.0), |x| x * x * x),
    ("floor", Tensor::floor, f64::floor),
    ("affine", |x| x.mul(-1.5)?.sub(0.25), |x| -1.5 * x - 0.25),
];

pub(super) fn unary(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let (name, ours, plain) = d.of(&UNARY);
    step(
        name,
        &[chain.last()],
        move |x| ours(&x[0]),
        move |x| x[0].map(plain),
    )
}

type Two = (
    &'static str,
    fn(&Tensor, &Tensor) -> Result<Tensor>,
    fn(f64, f64) -> f64,
);

const BINARY: [Two; 6] = [
    ("add", |a, b| a.add(b), |a, b| a + b),
    ("sub", |a, b| a.sub(b), |a, b| a - b),
    ("mul", |a, b| a.mul(b), |a, b| a * b),
    (
        "div",
        |a, b| a.div(b.square()?.add(0.5)?),
        |a, b| a / (b * b + 0.5),
    ),
    (
        "maximum",
        |a, b| a.maximum(b),
        |a, b| if a > b { a } else { b },
    ),
    (
        "minimum",
        |a, b| a.minimum(b),
        |a, b| if a < b { a } else { b },
    ),
];

fn binary_of(d: &mut Draw, a: usize, b: usize) -> Option<Step> {
    let (name, ours, plain) = d.of(&BINARY);
    let of = if d.below(2) == 0 { [a, b] } else { [b, a] };
    step(
        name,
        &of,
        move |x| ours(&x[0], &x[1]),
        move |x| x[0].zip(&x[1], plain),
    )
}

/// With an earlier value, which may be the same one.
pub(super) fn binary(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let (a, b) = (chain.last(), d.below(chain.values.len()));
    let shape = broadcast(&chain.values[a].shape, &chain.values[b].shape)?;
    (shape.iter().product::<usize>() <= 100).then_some(())?;
    binary_of(d, a, b)
}

/// With a leaf that broadcasts, or to which the last value broadcasts.
pub(super) fn binary_leaf(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let mut shape = chain.shape();
    for size in &mut shape {
        if *size == 1 {
            *size = 1 + d.below(3);
        } else if d.below(3) == 0 {
            *size = 1;
        }
    }
    if d.below(3) == 0 && !shape.is_empty() {
        shape.remove(0);
    }
    let (a, b) = (chain.last(), chain.leaf(d, &shape));
    binary_of(d, a, b)
}
