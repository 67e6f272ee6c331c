//! Our operation for each recorded call, by PyTorch's name.

pub(crate) mod activations;
pub(crate) mod arrangements;
pub(crate) mod counting;
pub(crate) mod data;
pub(crate) mod elementwise;
pub(crate) mod functions;
pub(crate) mod grids;
pub(crate) mod indexing;
pub(crate) mod linalg;
pub(crate) mod more;
pub(crate) mod normalization;
pub(crate) mod products;
pub(crate) mod reductions;
pub(crate) mod rest;
pub(crate) mod running;
pub(crate) mod shuffle;
pub(crate) mod windows;

use module_core::{Conv2dOptions, Dim, Padding, Pool2dOptions, Result, Tensor};
use serde_json::Value;

use crate::golden::{Case, Tolerance};

/// Calls that PyTorch computes and we intentionally refuse, by the prefix of their key.
pub const REFUSED: [&str; 35] = [
    "op.add.bool_u8",
    "op.add.u8_i32",
    "op.add.i32_i64",
    "op.add.i64_f32",
    "op.add.i64_f16",
    "op.add.f16_bf16",
    "op.add.f16_f32",
    "op.add.bf16_f32",
    "op.add.f32_f64",
    "op.add.bool_f32",
    "op.mul.bool_u8",
    "op.mul.u8_i32",
    "op.mul.i32_i64",
    "op.mul.i64_f32",
    "op.mul.i64_f16",
    "op.mul.f16_bf16",
    "op.mul.f16_f32",
    "op.mul.bf16_f32",
    "op.mul.f32_f64",
    "op.mul.bool_f32",
    "op.mul.i64_by_fraction",
    "op.mul.bool_by_number",
    "op.mul.f32_0d_f64",
    "op.mul.i64_0d_f64",
    "op.div.bool_u8",
    "op.div.u8_i32",
    "op.div.i32_i64",
    "op.div.i64_f32",
    "op.div.i64_f16",
    "op.div.f16_bf16",
    "op.div.f16_f32",
    "op.div.bf16_f32",
    "op.div.f32_f64",
    "op.div.bool_f32",
    "op.div.bool_bool",
];

/// Further refusals, each with its reason.
pub const REFUSED_FOR: [(&str, &str); 2] = [
    ("op.cat.promote", "dtypes differ"),
    (
        "op.cat.legacy_empty.f32",
        "an empty vector beside matrices is a special case of PyTorch's past",
    ),
];

/// Cases in which we differ because our result is more accurate: the case, the part, the reason.
pub(crate) type Different = [(&'static str, &'static str, &'static str)];

pub(crate) const DIFFERENT: &Different = &[
    (
        "op.rsqrt.half.f16",
        "gin0",
        "PyTorch rounds the cube of `1/√x` to half precision",
    ),
    (
        "op.gelu.none_special.f32",
        "out",
        "PyTorch's vectorized `erf` makes NaN of infinity in f32, and not in f64",
    ),
    (
        "op.gelu.none_range.f32",
        "out",
        "PyTorch's vectorized `erf` is 1e-7 from the truth in f32, which shows in the tail",
    ),
];

pub(crate) fn int(value: &Value) -> isize {
    isize::try_from(value.as_i64().unwrap()).unwrap()
}

pub(crate) fn ints(value: &Value) -> Vec<isize> {
    value.as_array().unwrap().iter().map(int).collect()
}

fn sizes(value: &Value) -> [usize; 2] {
    let sizes = ints(value);
    [0, 1].map(|d| usize::try_from(sizes[d]).unwrap())
}

/// The dimensions to reduce: all if absent, one, or several.
pub(crate) fn dims(x: &Tensor, args: &Value) -> Vec<isize> {
    match &args["dim"] {
        Value::Null => (0..x.rank() as isize).collect(),
        Value::Array(_) => ints(&args["dim"]),
        dim => vec![int(dim)],
    }
}

fn scalar(x: &Tensor, name: &str, value: &Value) -> Result<Tensor> {
    fn apply<'a>(
        x: &Tensor,
        name: &str,
        value: impl Into<module_core::Value<'a>>,
    ) -> Result<Tensor> {
        match name {
            "add" => x.add(value),
            "sub" => x.sub(value),
            "mul" => x.mul(value),
            _ => x.div(value),
        }
    }
    match value.as_i64() {
        Some(value) => apply(x, name, value),
        None => apply(x, name, value.as_f64().unwrap()),
    }
}

/// PyTorch's `max` and `min`: over everything, or along a dimension with indices.
fn extreme(x: &Tensor, case: &Case) -> Result<Vec<Tensor>> {
    let max = case.op == "max";
    if case.args["dim"].is_null() {
        let value = if max { x.max(..)? } else { x.min(..)? };
        return Ok(vec![value]);
    }
    let (dim, keep) = (int(&case.args["dim"]), case.args["keepdim"] == true);
    let (values, places) = if max {
        either!(keep, x, max / max_keepdim, dim)?
    } else {
        either!(keep, x, min / min_keepdim, dim)?
    };
    Ok(vec![values, places])
}

/// A dimension, or `None` for all.
fn dim_or_all(value: &Value) -> Dim {
    value
        .as_i64()
        .map_or(Dim::All, |dim| Dim::One(dim as isize))
}

fn convolution(inputs: &[Tensor], args: &Value) -> Result<Tensor> {
    let options = Conv2dOptions::new()
        .stride(sizes(&args["stride"]))
        .padding(Padding::Size(sizes(&args["padding"])))
        .dilation(sizes(&args["dilation"]))
        .groups(usize::try_from(int(&args["groups"])).unwrap());
    let out = inputs[0].conv2d(&inputs[1], options)?;
    match inputs.get(2) {
        Some(bias) => out.add(&bias.reshape([-1, 1, 1])?),
        None => Ok(out),
    }
}

/// Our operation for a case: its outputs and their tolerance, or `None` if the name is unknown here.
pub fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    use Tolerance as T;
    let (x, args) = (&inputs[0], &case.args);
    let all: Vec<&Tensor> = inputs.iter().collect();
    let keep = args["keepdim"] == true;
    let dim = || int(&args["dim"]);
    let one = |out: Result<Tensor>, tolerance| Some((out.map(|out| vec![out]), tolerance));
    let name = case.op.as_str();
    if !args["scalar"].is_null() {
        return one(scalar(x, name, &args["scalar"]), T::ELEMENTWISE);
    }
    match name {
        "add" => one(x.add(all[1]), T::ELEMENTWISE),
        "sub" => one(x.sub(all[1]), T::ELEMENTWISE),
        "mul" => one(x.mul(all[1]), T::ELEMENTWISE),
        "div" => one(x.div(all[1]), T::ELEMENTWISE),
        "neg" => one(x.neg(), T::EXACT),
        "exp" => one(x.exp(), T::ELEMENTWISE),
        "log" => one(x.log(), T::ELEMENTWISE),
        "sqrt" => one(x.sqrt(), T::ELEMENTWISE),
        "rsqrt" => one(x.rsqrt(), T::ELEMENTWISE),
        "abs" => one(x.abs(), T::EXACT),
        "relu" => one(x.relu(), T::EXACT),
        "sigmoid" => one(x.sigmoid(), T::ELEMENTWISE),
        "tanh" => one(x.tanh(), T::ELEMENTWISE),
        "pow" => one(x.pow(args["exponent"].as_f64().unwrap()), T::ELEMENTWISE),
        "sum" => one(
            either!(keep, x, sum / sum_keepdim, dims(x, args).as_slice()),
            T::CONTRACTION,
        ),
        "mean" => one(
            either!(keep, x, mean / mean_keepdim, dims(x, args).as_slice()),
            T::CONTRACTION,
        ),
        "var" => {
            let correction = args["correction"].as_f64().unwrap_or(1.0);
            let out = either!(
                keep,
                x,
                var / var_keepdim,
                dims(x, args).as_slice(),
                correction
            );
            one(out, T::CONTRACTION)
        }
        "max" | "min" => Some((extreme(x, case), T::ELEMENTWISE)),
        "argmax" | "argmin" => {
            let dim = dim_or_all(&args["dim"]);
            let out = match name {
                "argmax" => either!(keep, x, argmax / argmax_keepdim, dim),
                _ => either!(keep, x, argmin / argmin_keepdim, dim),
            };
            one(out, T::EXACT)
        }
        "matmul" => one(x.matmul(all[1]), T::CONTRACTION),
        "transpose" => one(
            x.transpose(int(&args["dims"][0]), int(&args["dims"][1])),
            T::EXACT,
        ),
        "permute" => one(x.permute(ints(&args["dims"])), T::EXACT),
        "reshape" => one(x.reshape(ints(&args["shape"])), T::EXACT),
        "narrow" => {
            let start = args["start"].as_u64().unwrap() as usize;
            let length = args["length"].as_u64().unwrap() as usize;
            one(x.narrow(dim(), start..start + length), T::EXACT)
        }
        "flatten" => one(
            x.flatten(int(&args["start_dim"]), int(&args["end_dim"])),
            T::EXACT,
        ),
        "squeeze" => {
            let cut = || {
                if args["narrow_first"].is_null() {
                    return Ok(x.clone());
                }
                let cut = ints(&args["narrow_first"]);
                let (start, length) = (cut[1] as usize, cut[2] as usize);
                x.narrow(cut[0], start..start + length)
            };
            one(cut().and_then(|x| x.squeeze(dim())), T::EXACT)
        }
        "unsqueeze" => one(x.unsqueeze(dim()), T::EXACT),
        "expand" => {
            let to = ints(&args["shape"]);
            let lead = to.len() - x.rank();
            // In PyTorch -1 keeps a size.
            let size = |(d, &size): (usize, &isize)| {
                usize::try_from(size).unwrap_or_else(|_| x.shape()[d - lead])
            };
            let shape: Vec<usize> = to.iter().enumerate().map(size).collect();
            one(x.expand(shape), T::CONTRACTION)
        }
        "cat" => one(Tensor::cat(&all, dim()), T::EXACT),
        "stack" => one(Tensor::stack(&all, dim()), T::EXACT),
        "where" => one(x.where_(all[1], all[2]), T::ELEMENTWISE),
        "gather" => one(x.gather(dim(), all[1]), T::ELEMENTWISE),
        "index_select" => one(x.index_select(dim(), all[1]), T::ELEMENTWISE),
        "softmax" => one(x.softmax(dim()), T::ELEMENTWISE),
        "log_softmax" => one(x.log_softmax(dim()), T::ELEMENTWISE),
        "conv2d" => one(convolution(inputs, args), T::CONTRACTION),
        "max_pool2d" => one(
            x.max_pool2d(
                Pool2dOptions::new(sizes(&args["kernel_size"]))
                    .stride(sizes(&args["stride"]))
                    .padding(sizes(&args["padding"]))
                    .dilation(sizes(&args["dilation"]))
                    .ceil_mode(args["ceil_mode"] == true),
            ),
            T::EXACT,
        ),
        _ => elementwise::run(case, inputs)
            .or_else(|| reductions::run(case, inputs))
            .or_else(|| arrangements::run(case, inputs)),
    }
}
