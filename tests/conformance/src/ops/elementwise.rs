//! Unary functions.

use crate::golden::{Case, Tolerance};
use module_core::{Approximate, Result, Scalar, Tensor};
use serde_json::Value;

/// A bound as written: an integer also fits integer tensors.
fn scalar(value: &Value) -> Option<Scalar> {
    match (value.as_i64(), value.as_f64()) {
        (Some(value), _) => Some(value.into()),
        (None, value) => value.map(Scalar::from),
    }
}

fn clamp(x: &Tensor, args: &Value) -> Result<Tensor> {
    match (scalar(&args["min"]), scalar(&args["max"])) {
        (Some(low), Some(high)) => x.clamp(low, high),
        (Some(low), None) => x.clamp_min(low),
        (None, Some(high)) => x.clamp_max(high),
        (None, None) => unreachable!("a clamp without bounds"),
    }
}

fn activation(x: &Tensor, case: &Case) -> Option<Result<Tensor>> {
    let number = |name: &str| case.args[name].as_f64().unwrap();
    Some(match case.op.as_str() {
        "gelu" if case.args["approximate"] == "tanh" => x.gelu(Approximate::Tanh),
        "gelu" => x.gelu(Approximate::None),
        "silu" => x.silu(),
        "softplus" => x.softplus(number("beta"), number("threshold")),
        "leaky_relu" => x.leaky_relu(number("negative_slope")),
        "elu" => x.elu(number("alpha")),
        _ => return None,
    })
}

/// Our outputs for a case of this family and their tolerance, or `None` if the name is unknown here.
pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let x = &inputs[0];
    let (out, tolerance) = match case.op.as_str() {
        "log1p" => (x.log1p(), Tolerance::ELEMENTWISE),
        "expm1" => (x.expm1(), Tolerance::ELEMENTWISE),
        "erf" => (x.erf(), Tolerance::ELEMENTWISE),
        "sin" => (x.sin(), Tolerance::ELEMENTWISE),
        "cos" => (x.cos(), Tolerance::ELEMENTWISE),
        "square" => (x.square(), Tolerance::ELEMENTWISE),
        "floor" => (x.floor(), Tolerance::EXACT),
        "ceil" => (x.ceil(), Tolerance::EXACT),
        "round" => (x.round(), Tolerance::EXACT),
        "clamp" => (clamp(x, &case.args), Tolerance::EXACT),
        _ => (activation(x, case)?, Tolerance::ELEMENTWISE),
    };
    Some((out.map(|out| vec![out]), tolerance))
}
