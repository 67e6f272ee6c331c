//! Tensors as indices, and writes by index.

use crate::golden::{Case, Tolerance};
use module_core::{IndexItem, Result, Scalar, Tensor};
use serde_json::Value;

use super::data;
use super::int;

/// Like `data::items`, and inputs.
fn items(value: &Value, inputs: &[Tensor]) -> Vec<IndexItem> {
    let item = |value: &Value| match value["tensor"].as_u64() {
        Some(i) => Some(IndexItem::from(&inputs[i as usize])),
        None => data::items(&Value::from(vec![value.clone()])).pop(),
    };
    let all = value.as_array().unwrap().iter();
    all.map(|value| item(value).unwrap()).collect()
}

fn written(case: &Case, inputs: &[Tensor]) -> Option<Result<Tensor>> {
    let (x, args) = (&inputs[0], &case.args);
    let dim = || int(&args["dim"]);
    Some(match case.op.as_str() {
        "index_tensor" => x.i(items(&args["items"], inputs).as_slice()),
        "index_put" => {
            let items = items(&args["items"], inputs);
            either!(
                args["accumulate"] == true,
                x,
                index_put / index_put_accumulate,
                items.as_slice(),
                inputs.last()?
            )
        }
        "masked_scatter" => x.masked_scatter(&inputs[1], &inputs[2]),
        "index_copy" => x.index_copy(dim(), &inputs[1], &inputs[2]),
        "index_fill" => match (inputs.get(2), args["value"].as_i64()) {
            (Some(value), _) => x.index_fill(dim(), &inputs[1], value),
            (None, Some(value)) => x.index_fill(dim(), &inputs[1], Scalar::Int(value)),
            (None, None) => x.index_fill(dim(), &inputs[1], args["value"].as_f64()?),
        },
        _ => return None,
    })
}

/// Our outputs for a case of this family and their tolerance, or `None` if the name is unknown here.
pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let adds = case.op == "index_put" && case.args["accumulate"] == true;
    let tolerance = if adds {
        Tolerance::ELEMENTWISE
    } else {
        Tolerance::EXACT
    };
    Some((written(case, inputs)?.map(|out| vec![out]), tolerance))
}
