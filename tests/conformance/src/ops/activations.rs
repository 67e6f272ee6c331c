//! Activations and clamping, random draws, functions of two tensors, comparisons, casts.

use crate::golden::{Case, Tolerance};
use module_core::{DType, Reduction, Result, Tensor, fork_rng};
use module_nn::functional;
use serde_json::Value;

use super::Different;
use super::more::number;

fn activation(case: &Case, inputs: &[Tensor]) -> Option<Result<Tensor>> {
    let (x, args) = (&inputs[0], &case.args);
    let float = |name: &str| args[name].as_f64().unwrap();
    Some(match case.op.as_str() {
        "celu" => x.celu(float("alpha")),
        "glu" => x.glu(super::int(&args["dim"])),
        "hardshrink" => x.hardshrink(float("lambd")),
        "hardsigmoid" => x.hardsigmoid(),
        "hardswish" => x.hardswish(),
        "hardtanh" => x.hardtanh(float("min_val"), float("max_val")),
        "log_sigmoid" => x.log_sigmoid(),
        "mish" => x.mish(),
        "prelu" => x.prelu(&inputs[1]),
        "relu6" => x.relu6(),
        "rrelu" => fork_rng(5, || functional::rrelu(x, float("lower"), float("upper"))),
        "selu" => x.selu(),
        "softshrink" => x.softshrink(float("lambd")),
        "softsign" => x.softsign(),
        "tanhshrink" => x.tanhshrink(),
        "threshold" => x.threshold(number(&args["threshold"]), number(&args["value"])),
        _ => return None,
    })
}

fn simple(case: &Case, inputs: &[Tensor]) -> Option<Result<Tensor>> {
    let (x, args) = (&inputs[0], &case.args);
    let p = || args["p"].as_f64().unwrap();
    Some(match case.op.as_str() {
        "add_scaled" => x.add_scaled(&inputs[1], number(&args["alpha"])),
        "alpha_dropout" => fork_rng(5, || x.alpha_dropout(p())),
        "binary_cross_entropy" => {
            functional::binary_cross_entropy(x, &inputs[1], None, Reduction::None)
        }
        "clamp_max" => x.clamp_max(number(&args["bound"])),
        "clamp_min" => x.clamp_min(number(&args["bound"])),
        "dropout" => fork_rng(5, || x.dropout(p())),
        "feature_alpha_dropout" => fork_rng(5, || x.feature_alpha_dropout(p())),
        "feature_dropout" => fork_rng(5, || x.feature_dropout(p())),
        "maximum" => x.maximum(&inputs[1]),
        "minimum" => x.minimum(&inputs[1]),
        "reciprocal" => x.reciprocal(),
        "sign" => x.sign(),
        "to_dtype" => x.to_dtype(dtype(&args["dtype"])),
        _ => return None,
    })
}

fn dtype(name: &Value) -> DType {
    match name.as_str().unwrap() {
        "f64" => DType::F64,
        "f32" => DType::F32,
        "f16" => DType::F16,
        "bf16" => DType::BF16,
        "i64" => DType::I64,
        "i32" => DType::I32,
        "u8" => DType::U8,
        _ => DType::Bool,
    }
}

/// The right operand of a comparison: a number or a tensor.
fn compared(case: &Case, inputs: &[Tensor]) -> Option<Result<Tensor>> {
    fn by<'a>(
        name: &str,
        x: &Tensor,
        other: impl Into<module_core::Value<'a>>,
    ) -> Option<Result<Tensor>> {
        Some(match name {
            "eq" => x.eq(other),
            "ne" => x.ne(other),
            "lt" => x.lt(other),
            "le" => x.le(other),
            "gt" => x.gt(other),
            "ge" => x.ge(other),
            _ => return None,
        })
    }
    match inputs.get(1) {
        Some(other) => by(&case.op, &inputs[0], other),
        None => by(&case.op, &inputs[0], number(&case.args["number"])),
    }
}

fn whole(case: &Case, inputs: &[Tensor]) -> Option<Result<bool>> {
    let (x, args) = (&inputs[0], &case.args);
    let float = |name: &str| args[name].as_f64().unwrap();
    Some(match case.op.as_str() {
        "equal" => x.equal(&inputs[1]),
        "allclose" => {
            let nan = args["equal_nan"] == true;
            x.allclose(
                &inputs[1],
                module_core::Tolerance::new()
                    .rtol(float("rtol"))
                    .atol(float("atol"))
                    .equal_nan(nan),
            )
        }
        _ => return None,
    })
}

pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let found = activation(case, inputs).or_else(|| simple(case, inputs));
    let (out, tolerance) = match found {
        Some(out) if case.args["bits"] == true => (out, Tolerance::EXACT),
        Some(out) => (out, Tolerance::ELEMENTWISE),
        None => {
            let truth = || whole(case, inputs).map(|is| is.map(Tensor::from));
            (compared(case, inputs).or_else(truth)?, Tolerance::EXACT)
        }
    };
    Some((out.map(|out| vec![out]), tolerance))
}

const ALPHA: &str = "PyTorch rounds `alpha` to f32";
const SIXTH: &str = "PyTorch's slope in f64 is a sixth as f32 rounds it";
const INFINITY: &str = "PyTorch multiplies infinity by 0, where the slope is 1";
const HALVES: &str = "PyTorch rounds each step to half precision";

/// Cases in which our result is more accurate.
pub(crate) const DIFFERENT: &Different = &[
    ("op.celu.small_contiguous.f64", "gin0", ALPHA),
    ("op.celu.small_special.f64", "gin0", ALPHA),
    ("op.celu.small_bends.f64", "gin0", ALPHA),
    ("op.hardsigmoid.contiguous.f64", "gin0", SIXTH),
    ("op.hardsigmoid.special.f64", "gin0", SIXTH),
    ("op.hardsigmoid.bends.f64", "gin0", SIXTH),
    ("op.mish.special.f32", "gin0", INFINITY),
    ("op.mish.special.f64", "gin0", INFINITY),
    ("op.tanhshrink.half.f16", "gin0", HALVES),
    ("op.tanhshrink.half.bf16", "gin0", HALVES),
];

pub(crate) const DIFFERENT_PAIRS: &Different =
    &[("op.binary_cross_entropy.half.f16", "gin1", HALVES)];
