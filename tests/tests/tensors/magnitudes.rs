//! Functions of very large and very small numbers are PyTorch's, with their gradients.
#![allow(clippy::unwrap_used, clippy::panic)]

use module_nn::functional::{cosine_similarity, normalize, pairwise_distance};
use module_nn::prelude::*;
use module_nn::{AttentionOptions, CdistMode, HuberLoss};
use module_tests::golden::{self, Tolerance};

type Function = fn(&Tensor, &Tensor) -> Result<Tensor>;

const SCALES: [&str; 4] = ["1e30", "1e15", "1e-15", "1e-30"];

/// By the names of the recordings.
const FUNCTIONS: [(&str, Function); 49] = [
    ("std", |x, _| x.std(-1, 1.0)),
    ("std_rows", |x, _| x.std(0, 1.0)),
    ("std_all", |x, _| x.std(.., 0.0)),
    ("var", |x, _| x.var(-1, 1.0)),
    ("norm", |x, _| x.norm(2.0, -1)),
    ("norm_1", |x, _| x.norm(1.0, -1)),
    ("norm_inf", |x, _| x.norm(f64::INFINITY, -1)),
    ("normalize", |x, _| normalize(x, 2.0, -1, 1e-12)),
    ("cosine_similarity", |x, y| {
        cosine_similarity(x, y, -1, 1e-8)
    }),
    ("pairwise_distance", |x, y| {
        pairwise_distance(x, y, 2.0, 1e-6)
    }),
    ("cdist", |x, y| x.cdist(y, 2.0, CdistMode::default())),
    ("layer_norm", |x, _| x.layer_norm([9], None, None, 1e-5)),
    ("rms_norm", |x, _| x.rms_norm([9], None, None)),
    ("sum", |x, _| x.sum(-1)),
    ("mean", |x, _| x.mean(0)),
    ("logsumexp", |x, _| x.logsumexp(-1)),
    ("softmax", |x, _| x.softmax(-1)),
    ("log_softmax", |x, _| x.log_softmax(-1)),
    ("logcumsumexp", |x, _| x.logcumsumexp(-1)),
    ("logaddexp", |x, y| x.logaddexp(y)),
    ("hypot", |x, y| x.hypot(y)),
    ("atan2", |x, y| x.atan2(y)),
    ("div", |x, y| x / y),
    ("reciprocal", |x, _| x.reciprocal()),
    ("sqrt", |x, _| x.abs()?.sqrt()),
    ("rsqrt", |x, _| x.abs()?.rsqrt()),
    ("square", |x, _| x.square()),
    ("pow", |x, _| x.abs()?.pow(-1.5)),
    ("prod", |x, _| x.narrow(1, 0..2)?.prod(-1)),
    ("expm1", |x, _| x.expm1()),
    ("log", |x, _| x.abs()?.log()),
    ("log1p", |x, _| x.abs()?.log1p()),
    ("atan", |x, _| x.atan()),
    ("asinh", |x, _| x.asinh()),
    ("sinh", |x, _| x.sinh()),
    ("tanh", |x, _| x.tanh()),
    ("sigmoid", |x, _| x.sigmoid()),
    ("silu", |x, _| x.silu()),
    ("mish", |x, _| x.mish()),
    ("log_sigmoid", |x, _| x.log_sigmoid()),
    ("erf", |x, _| x.erf()),
    ("erfc", |x, _| x.erfc()),
    ("lgamma", |x, _| x.lgamma()),
    ("fmod", |x, y| x.fmod(y.detach())),
    ("remainder", |x, y| x.remainder(y.detach())),
    ("mse_loss", |x, y| MSELoss::new().loss(x, y)),
    ("huber_loss", |x, y| HuberLoss::new().loss(x, y)),
    ("cross_entropy", |x, _| {
        CrossEntropyLoss::new().loss(x, &Tensor::arange(0, 4, DType::I64)?)
    }),
    ("attention", |x, y| {
        x.scaled_dot_product_attention(y, y, AttentionOptions::new())
    }),
];

#[test]
fn very_large_and_very_small_numbers_are_computed_as_in_pytorch() {
    let (_, tensors) = golden::load("magnitudes.safetensors");
    let mut compared = 2 * SCALES.len();
    let mut wrong = Vec::new();
    for scale in SCALES {
        for (name, f) in FUNCTIONS {
            let Some(expected) = tensors.get(&format!("{scale} {name}")) else {
                continue;
            };
            let leaf = |name: &str| {
                let x = tensors.get(&format!("{scale} {name}")).unwrap();
                x.with_grad().unwrap()
            };
            let (x, y) = (leaf("x"), leaf("y"));
            let out = f(&x, &y).unwrap();
            let mut check = |what: &str, got: &Tensor, expected: &Tensor| {
                compared += 1;
                if let Err(difference) = golden::compare(got, expected, Tolerance::OF_LARGEST) {
                    wrong.push(format!("{scale} {name}{what}: {difference}"));
                }
            };
            check("", &out, expected);
            let weights = Tensor::linspace(-1.0, 1.0, out.numel(), DType::F32).unwrap();
            let weights = weights.reshape(out.shape()).unwrap();
            let sum = out.mul(&weights).unwrap().sum(..).unwrap();
            sum.backward().unwrap();
            for (leaf, input) in [("x", &x), ("y", &y)] {
                let key = format!("{scale} {name} {leaf}");
                match (input.grad(), tensors.get(&key)) {
                    (Some(grad), Some(expected)) => check(&format!(" {leaf}"), &grad, expected),
                    (None, None) => {}
                    _ => panic!("{key}: only one side has a gradient"),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(compared, tensors.len(), "a recording has no function");
}

#[test]
fn deviations_scale_with_their_elements_bit_for_bit() -> Result<()> {
    let x = Tensor::randn([5, 300], DType::F32)?;
    let computed = |x: &Tensor, f: Function| {
        let x = x.detach().with_grad()?;
        let y = f(&x, &x)?;
        y.sum(..)?.backward()?;
        let grad = x.grad().unwrap();
        Ok::<_, Error>([y.to_dtype(DType::F64)?, grad.to_dtype(DType::F64)?])
    };
    for (name, f, power, exponents) in [
        (
            "std",
            (|x, _| x.std(1, 1.0)) as Function,
            1,
            [100, 60, -60, -100],
        ),
        ("var", |x, _| x.var(1, 1.0), 2, [61, 50, -50, -60]),
    ] {
        let [y, grad] = computed(&x, f)?;
        for exponent in exponents {
            let scale = 2.0_f64.powi(exponent);
            let [of_scaled, grad_of_scaled] = computed(&(&x * scale)?, f)?;
            let expected = [(&y * scale.powi(power))?, (&grad * scale.powi(power - 1))?];
            for (got, expected) in [of_scaled, grad_of_scaled].iter().zip(expected) {
                let expected = expected.to_vec::<f64>()?;
                assert_eq!(got.to_vec::<f64>()?, expected, "{name} at 2^{exponent}");
            }
        }
    }
    Ok(())
}
