//! Products added to a tensor, `tensordot`, distances, diagonals.

use crate::golden::{Case, Tolerance};
use module_core::{CdistMode, Result, Tensor, TensordotDims};
use serde_json::Value;

use super::more::number;
use super::{int, ints};

fn dims(value: &Value) -> TensordotDims {
    match value.as_u64() {
        Some(count) => TensordotDims::Count(count as usize),
        None => TensordotDims::Pairs(ints(&value[0]), ints(&value[1])),
    }
}

fn distances(x: &Tensor, other: &Tensor, args: &Value) -> Result<Tensor> {
    let mode = match args["compute_mode"].as_str().unwrap() {
        "use_mm_for_euclid_dist" => CdistMode::UseMm,
        "donot_use_mm_for_euclid_dist" => CdistMode::DonotUseMm,
        _ => CdistMode::UseMmIfNecessary,
    };
    x.cdist(other, args["p"].as_f64().unwrap_or(f64::INFINITY), mode)
}

pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let (x, args) = (&inputs[0], &case.args);
    let both = || (number(&args["beta"]), number(&args["alpha"]));
    let added = || (&inputs[1], &inputs[2], both().0, both().1);
    let out = match case.op.as_str() {
        "addmm" => {
            let (a, b, beta, alpha) = added();
            x.addmm(a, b, beta, alpha)
        }
        "addmv" => {
            let (a, b, beta, alpha) = added();
            x.addmv(a, b, beta, alpha)
        }
        "baddbmm" => {
            let (a, b, beta, alpha) = added();
            x.baddbmm(a, b, beta, alpha)
        }
        "addbmm" => {
            let (a, b, beta, alpha) = added();
            x.addbmm(a, b, beta, alpha)
        }
        "tensordot" => x.tensordot(&inputs[1], dims(&args["dims"])),
        "cdist" => distances(x, &inputs[1], args),
        "diag_embed" => x.diag_embed(int(&args["offset"]), int(&args["dim1"]), int(&args["dim2"])),
        "diag" => x.diag(int(&args["diagonal"])),
        _ => return None,
    };
    Some((out.map(|out| vec![out]), Tolerance::CONTRACTION))
}
