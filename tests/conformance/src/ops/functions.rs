//! Unary and binary functions, division, clamping by tensors.

use crate::golden::{Case, Tolerance};
use module_core::{Result, Tensor};
use serde_json::Value;

use super::Different;
use super::more::number;

pub(crate) const DIFFERENT: &Different = &[
    ("op.asin.half.f16", "gin0", STEPS),
    ("op.acos.half.f16", "gin0", STEPS),
    ("op.atanh.half.f16", "gin0", STEPS),
    ("op.lgamma.contiguous.f32", "gin0", SINGLE),
    ("op.lgamma.transposed.f32", "gin0", SINGLE),
    ("op.lgamma.narrowed.f32", "gin0", SINGLE),
    ("op.lgamma.strided.f32", "gin0", SINGLE),
    ("op.lgamma.poles.f32", "gin0", SINGLE),
    ("op.digamma.contiguous.f32", "out", SINGLE),
    ("op.digamma.transposed.f32", "out", SINGLE),
    ("op.digamma.narrowed.f32", "out", SINGLE),
    ("op.digamma.strided.f32", "out", SINGLE),
    ("op.digamma.poles.f32", "out", SINGLE),
    ("op.digamma.special.f32", "gin0", POLE),
    ("op.digamma.contiguous.f64", "gin0", SERIES),
    ("op.digamma.special.f64", "gin0", SERIES),
    ("op.digamma.poles.f64", "gin0", SERIES),
    ("op.polygamma.1_contiguous.f64", "out", SERIES),
    ("op.polygamma.1_special.f64", "out", SERIES),
    ("op.polygamma.1_poles.f64", "out", SERIES),
    ("op.polygamma.0.f64", "gin0", SERIES),
];

const STEPS: &str = "PyTorch rounds each step of the derivative to half precision";
const SINGLE: &str =
    "PyTorch computes the digamma function in f32, and loses digits near its zeros";
const POLE: &str =
    "PyTorch's sine of π is not 0, so that its trigamma function is finite at a pole";
const SERIES: &str =
    "PyTorch's series of the trigamma function has three terms, enough for ten digits";

/// The unary operation.
fn one(x: &Tensor, case: &Case) -> Option<(Result<Tensor>, Tolerance)> {
    let exact = match case.op.as_str() {
        "trunc" => x.trunc(),
        "frac" => x.frac(),
        "signbit" => x.signbit(),
        "isposinf" => x.isposinf(),
        "isneginf" => x.isneginf(),
        _ => return elementwise(x, case).map(|out| (out, Tolerance::ELEMENTWISE)),
    };
    Some((exact, Tolerance::EXACT))
}

fn elementwise(x: &Tensor, case: &Case) -> Option<Result<Tensor>> {
    Some(match case.op.as_str() {
        "tan" => x.tan(),
        "asin" => x.asin(),
        "acos" => x.acos(),
        "atan" => x.atan(),
        "sinh" => x.sinh(),
        "cosh" => x.cosh(),
        "asinh" => x.asinh(),
        "acosh" => x.acosh(),
        "atanh" => x.atanh(),
        "log2" => x.log2(),
        "log10" => x.log10(),
        "exp2" => x.exp2(),
        "erfc" => x.erfc(),
        "erfinv" => x.erfinv(),
        "lgamma" => x.lgamma(),
        "digamma" => x.digamma(),
        "polygamma" => x.polygamma(u32::try_from(case.args["n"].as_u64().unwrap()).unwrap()),
        "deg2rad" => x.deg2rad(),
        "rad2deg" => x.rad2deg(),
        _ => return None,
    })
}

fn by_number(x: &Tensor, name: &str, value: &Value) -> Result<Tensor> {
    let number = match value.as_str() {
        Some(_) => f64::INFINITY.into(),
        None => number(value),
    };
    match name {
        "fmod" => x.fmod(number),
        "remainder" => x.remainder(number),
        "floor_divide" => x.floor_divide(number),
        _ => x.copysign(number),
    }
}

fn clamp(x: &Tensor, bounds: &Value, inputs: &[Tensor]) -> Result<Tensor> {
    match (bounds.as_array().unwrap().len(), bounds[0].as_str()) {
        (2, _) => x.clamp(&inputs[1], &inputs[2]),
        (_, Some("min")) => x.clamp_min(&inputs[1]),
        _ => x.clamp_max(&inputs[1]),
    }
}

pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let (x, args) = (&inputs[0], &case.args);
    let name = case.op.as_str();
    let (out, tolerance) = match name {
        "fmod" | "remainder" | "floor_divide" | "copysign" if !args["number"].is_null() => {
            (by_number(x, name, &args["number"]), Tolerance::ELEMENTWISE)
        }
        // If the second operand is broadcast, its gradient is a sum.
        "fmod" => (x.fmod(&inputs[1]), Tolerance::CONTRACTION),
        "remainder" => (x.remainder(&inputs[1]), Tolerance::CONTRACTION),
        "floor_divide" => (x.floor_divide(&inputs[1]), Tolerance::EXACT),
        "copysign" => (x.copysign(&inputs[1]), Tolerance::CONTRACTION),
        "atan2" => (x.atan2(&inputs[1]), Tolerance::CONTRACTION),
        "hypot" => (x.hypot(&inputs[1]), Tolerance::CONTRACTION),
        "clamp" => (clamp(x, &args["bounds"], inputs), Tolerance::CONTRACTION),
        _ => one(x, case)?,
    };
    Some((out.map(|out| vec![out]), tolerance))
}
