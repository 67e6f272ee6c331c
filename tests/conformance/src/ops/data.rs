//! Slices, views, padding, sorting, indices, `einsum`.

use std::ops::Bound;

use crate::golden::{Case, Tolerance};
use module_core::{DType, IndexItem, PadMode, Result, Scalar, Tensor};
use serde_json::Value;

use super::{int, ints};

fn size(value: &Value) -> usize {
    usize::try_from(int(value)).unwrap()
}

/// A start or an end of a Python slice.
fn bound(value: &Value, of: fn(isize) -> Bound<isize>) -> Bound<isize> {
    value
        .as_i64()
        .map_or(Bound::Unbounded, |end| of(end as isize))
}

pub(super) fn items(value: &Value) -> Vec<IndexItem> {
    let item = |item: &Value| match item {
        Value::Null => IndexItem::NewAxis,
        Value::String(_) => IndexItem::Ellipsis,
        Value::Number(_) => IndexItem::At(int(item)),
        _ => IndexItem::Slice {
            start: bound(&item["slice"][0], Bound::Included),
            end: bound(&item["slice"][1], Bound::Excluded),
            step: item["slice"][2].as_i64().unwrap_or(1) as isize,
        },
    };
    value.as_array().unwrap().iter().map(item).collect()
}

fn views(case: &Case, x: &Tensor) -> Option<Result<Tensor>> {
    let args = &case.args;
    let dim = || int(&args["dim"]);
    Some(match case.op.as_str() {
        "slice" => {
            let start = bound(&args["start"], Bound::Included);
            let end = bound(&args["end"], Bound::Excluded);
            x.slice(dim(), (start, end), int(&args["step"]))
        }
        "select" => x.select(dim(), int(&args["index"])),
        "diagonal" => x.diagonal(int(&args["offset"]), int(&args["dim1"]), int(&args["dim2"])),
        "unfold" => x.unfold(dim(), size(&args["size"]), size(&args["step"])),
        "unflatten" => x.unflatten(dim(), ints(&args["sizes"])),
        "movedim" => x.movedim(
            ints(&args["source"]).as_slice(),
            ints(&args["destination"]).as_slice(),
        ),
        "unbind" => x.unbind(dim()).map(|parts| {
            assert_eq!(parts.len(), size(&args["count"]));
            parts[size(&args["part"])].clone()
        }),
        "index" => x.i(items(&args["items"]).as_slice()),
        _ => return None,
    })
}

fn copies(case: &Case, x: &Tensor) -> Option<Result<Tensor>> {
    let args = &case.args;
    let dim = || int(&args["dim"]);
    Some(match case.op.as_str() {
        "repeat" => {
            let repeats: Vec<usize> = args["repeats"]
                .as_array()
                .unwrap()
                .iter()
                .map(size)
                .collect();
            x.repeat(repeats)
        }
        "repeat_interleave" => x.repeat_interleave(size(&args["repeats"]), dim()),
        "diff" => x.diff(size(&args["n"]), dim()),
        "nonzero" if x.dtype() == DType::Bool => x.nonzero(),
        "nonzero" => x.gt(0).and_then(|x| x.nonzero()),
        "pad" => {
            let whole = !x.dtype().is_floating_point();
            let value = match args["value"].as_f64() {
                _ if whole => Scalar::Int(0),
                None => f64::INFINITY.into(),
                Some(value) => value.into(),
            };
            let mode = match args["mode"].as_str().unwrap() {
                "reflect" => PadMode::Reflect,
                "replicate" => PadMode::Replicate,
                "circular" => PadMode::Circular,
                _ => PadMode::Constant(value),
            };
            x.pad(ints(&args["pad"]), mode)
        }
        "argsort" => either!(
            args["descending"] == true,
            x,
            argsort / argsort_descending,
            dim()
        ),
        _ => return None,
    })
}

fn orders(case: &Case, x: &Tensor) -> Option<Result<(Tensor, Tensor)>> {
    let args = &case.args;
    let (dim, keep) = (|| int(&args["dim"]), args["keepdim"] == true);
    Some(match case.op.as_str() {
        "sort" => either!(args["descending"] == true, x, sort / sort_descending, dim()),
        "topk" => either!(
            args["largest"] == true,
            x,
            topk_smallest / topk,
            size(&args["k"]),
            dim()
        ),
        "kthvalue" => either!(
            keep,
            x,
            kthvalue / kthvalue_keepdim,
            size(&args["k"]),
            dim()
        ),
        "median" => either!(keep, x, median / median_keepdim, dim()),
        _ => return None,
    })
}

/// Operations on several tensors, with their tolerances.
fn of_many(case: &Case, inputs: &[Tensor]) -> Option<(Result<Tensor>, Tolerance)> {
    let (x, args) = (&inputs[0], &case.args);
    let out = match case.op.as_str() {
        "embedding" => x.embedding(&inputs[1], args["padding_idx"].as_u64().map(|i| i as usize)),
        "scatter" => match inputs.get(2) {
            Some(source) => x.scatter(int(&args["dim"]), &inputs[1], source),
            None => {
                let value = args["value"].as_f64().unwrap();
                x.scatter(int(&args["dim"]), &inputs[1], value)
            }
        },
        "take_along_dim" => x.take_along_dim(&inputs[1], int(&args["dim"])),
        "cumprod" => return Some((x.cumprod(int(&args["dim"])), Tolerance::ELEMENTWISE)),
        "einsum" => {
            let equation = args["equation"].as_str().unwrap();
            let out = Tensor::einsum(equation, &inputs.iter().collect::<Vec<_>>());
            return Some((out, Tolerance::CONTRACTION));
        }
        _ => return None,
    };
    Some((out, Tolerance::EXACT))
}

/// Our outputs for a case of this family and their tolerance, or `None` if the name is unknown here.
pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let x = &inputs[0];
    if let Some(out) = views(case, x).or_else(|| copies(case, x)) {
        return Some((out.map(|out| vec![out]), Tolerance::EXACT));
    }
    if let Some(out) = orders(case, x) {
        let out = out.map(|(values, places)| vec![values, places]);
        return Some((out, Tolerance::EXACT));
    }
    let (out, tolerance) = of_many(case, inputs)?;
    Some((out.map(|out| vec![out]), tolerance))
}

/// Operations that copy, and whose gradient is a sum if elements occur twice.
pub(crate) fn adds_up(op: &str) -> bool {
    [
        "unfold",
        "repeat",
        "repeat_interleave",
        "diff",
        "pad",
        "embedding",
        "take_along_dim",
        "sort",
        "topk",
        "kthvalue",
        "median",
        "cumprod",
        "index_tensor",
        "index_put",
        "index_fill",
        "index_copy",
        "scatter_reduce",
        "meshgrid",
        "cummax",
        "cummin",
        "logcumsumexp",
        "quantile",
        "nanquantile",
        "nan_to_num",
        "logaddexp",
        "logaddexp2",
        "xlogy",
    ]
    .contains(&op)
}
