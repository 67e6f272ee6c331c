//! Cumulative extremes, `logcumsumexp`, quantiles, `nan_to_num`.

use crate::golden::{Case, Tolerance};
use module_core::{QuantileInterpolation, Result, Tensor};

use super::{dim_or_all, int};

fn quantile(case: &Case, inputs: &[Tensor]) -> Option<Result<Tensor>> {
    use QuantileInterpolation as I;
    let (x, args) = (&inputs[0], &case.args);
    let dim = dim_or_all(&args["dim"]);
    let keep = args["keepdim"] == true;
    let mode = match args["interpolation"].as_str()? {
        "linear" => I::Linear,
        "lower" => I::Lower,
        "higher" => I::Higher,
        "nearest" => I::Nearest,
        _ => I::Midpoint,
    };
    Some(
        match (case.op.as_str(), inputs.get(1), args["q"].as_f64()) {
            ("quantile", Some(q), _) => either!(keep, x, quantile / quantile_keepdim, q, dim, mode),
            ("quantile", None, Some(q)) => {
                either!(keep, x, quantile / quantile_keepdim, q, dim, mode)
            }
            ("nanquantile", Some(q), _) => {
                either!(keep, x, nanquantile / nanquantile_keepdim, q, dim, mode)
            }
            ("nanquantile", None, Some(q)) => {
                either!(keep, x, nanquantile / nanquantile_keepdim, q, dim, mode)
            }
            _ => return None,
        },
    )
}

/// Our outputs for a case of this family and their tolerance, or `None` if the name is unknown here.
pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let (x, args) = (&inputs[0], &case.args);
    let pair = |out: Result<(Tensor, Tensor)>| out.map(|(values, places)| vec![values, places]);
    let number = |name: &str| args[name].as_str().map(|text| text.parse::<f64>().unwrap());
    let one = |out: Result<Tensor>| out.map(|out| vec![out]);
    let out = match case.op.as_str() {
        "cummax" => return Some((pair(x.cummax(int(&args["dim"]))), Tolerance::EXACT)),
        "cummin" => return Some((pair(x.cummin(int(&args["dim"]))), Tolerance::EXACT)),
        "nan_to_num" => {
            let out = x.nan_to_num(number("nan"), number("posinf"), number("neginf"));
            return Some((one(out), Tolerance::EXACT));
        }
        "logcumsumexp" => x.logcumsumexp(int(&args["dim"])),
        "logaddexp" => x.logaddexp(&inputs[1]),
        "logaddexp2" => x.logaddexp2(&inputs[1]),
        "xlogy" => match inputs.get(1) {
            Some(y) => x.xlogy(y),
            None => x.xlogy(args["number"].as_f64()?),
        },
        _ => quantile(case, inputs)?,
    };
    Some((one(out), Tolerance::ELEMENTWISE))
}
