//! Logic, masks, reductions and cumulative operations.

use crate::golden::{Case, Tolerance};
use module_core::{Result, Tensor};
use serde_json::Value;

use super::{dims, int};

/// The order of a norm; JSON cannot represent infinities.
fn order(value: &Value) -> f64 {
    match value.as_str() {
        Some("inf") => f64::INFINITY,
        Some(_) => f64::NEG_INFINITY,
        None => value.as_f64().unwrap(),
    }
}

fn logic(case: &Case, inputs: &[Tensor]) -> Option<Result<Tensor>> {
    let (x, args) = (&inputs[0], &case.args);
    let (dims, keep) = (dims(x, args), args["keepdim"] == true);
    Some(match case.op.as_str() {
        "logical_and" => x.logical_and(&inputs[1]),
        "logical_or" => x.logical_or(&inputs[1]),
        "logical_xor" => x.logical_xor(&inputs[1]),
        "logical_not" => x.logical_not(),
        "isnan" => x.isnan(),
        "isinf" => x.isinf(),
        "isfinite" => x.isfinite(),
        "any" => either!(keep, x, any / any_keepdim, dims.as_slice()),
        "all" => either!(keep, x, all / all_keepdim, dims.as_slice()),
        "masked_fill" => x.masked_fill(&inputs[1], args["value"].as_f64().unwrap()),
        "masked_select" => x.masked_select(&inputs[1]),
        _ => return None,
    })
}

fn fold(case: &Case, x: &Tensor) -> Option<Result<Tensor>> {
    let args = &case.args;
    let (dims, keep) = (dims(x, args), args["keepdim"] == true);
    let dims = dims.as_slice();
    Some(match case.op.as_str() {
        "prod" => either!(keep, x, prod / prod_keepdim, dims),
        "logsumexp" => either!(keep, x, logsumexp / logsumexp_keepdim, dims),
        "norm" => either!(keep, x, norm / norm_keepdim, order(&args["p"]), dims),
        "sum_squares" => either!(keep, x, sum_squares / sum_squares_keepdim, dims),
        "std" => either!(
            keep,
            x,
            std / std_keepdim,
            dims,
            args["correction"].as_f64().unwrap_or(1.0)
        ),
        "cumsum" => x.cumsum(int(&args["dim"])),
        _ => return None,
    })
}

/// Our outputs for a case of this family and their tolerance, or `None` if the name is unknown here.
pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let (out, tolerance) = match logic(case, inputs) {
        Some(out) => (out, Tolerance::EXACT),
        None => (fold(case, &inputs[0])?, Tolerance::CONTRACTION),
    };
    Some((out.map(|out| vec![out]), tolerance))
}
