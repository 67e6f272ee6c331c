//! Grid sampling, resizing by interpolation, `normalize`, Gumbel softmax.

use crate::golden::{Case, Tolerance};
use module_core::{GridPaddingMode, GridSampleMode, GridSampleOptions, Result, Tensor, fork_rng};
use module_nn::functional::{gumbel_softmax, gumbel_softmax_hard, normalize};
use serde_json::Value;

use super::windows::interpolate;
use super::{int, ints};

fn grid_sample(x: &Tensor, grid: &Tensor, args: &Value) -> Result<Tensor> {
    let mode = match args["mode"].as_str().unwrap() {
        "nearest" => GridSampleMode::Nearest,
        "bicubic" => GridSampleMode::Bicubic,
        _ => GridSampleMode::Bilinear,
    };
    let padding = match args["padding_mode"].as_str().unwrap() {
        "border" => GridPaddingMode::Border,
        "reflection" => GridPaddingMode::Reflection,
        _ => GridPaddingMode::Zeros,
    };
    let options = GridSampleOptions::new().mode(mode).padding_mode(padding);
    x.grid_sample(grid, options.align_corners(args["align_corners"] == true))
}

fn unit(x: &Tensor, args: &Value) -> Result<Tensor> {
    let dims = match &args["dim"] {
        Value::Array(_) => ints(&args["dim"]),
        dim => vec![int(dim)],
    };
    let p = args["p"].as_f64().unwrap_or(f64::INFINITY);
    normalize(x, p, dims.as_slice(), args["eps"].as_f64().unwrap())
}

pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let (x, args) = (&inputs[0], &case.args);
    let (out, tolerance) = match case.op.as_str() {
        "grid_sample" => (grid_sample(x, &inputs[1], args), Tolerance::CONTRACTION),
        "affine_grid" => {
            let size: Vec<usize> = ints(&args["size"]).iter().map(|&n| n as usize).collect();
            let out = either!(
                args["align_corners"] == true,
                x,
                affine_grid / affine_grid_align_corners,
                size
            );
            (out, Tolerance::CONTRACTION)
        }
        "interpolate" => (x.interpolate(&interpolate(args)), Tolerance::CONTRACTION),
        "normalize" => (unit(x, args), Tolerance::CONTRACTION),
        "gumbel_softmax" => {
            let (tau, hard) = (args["tau"].as_f64().unwrap(), args["hard"] == true);
            let draw = match hard {
                true => gumbel_softmax_hard,
                false => gumbel_softmax,
            };
            let out = fork_rng(5, || draw(x, tau, int(&args["dim"])));
            (out, Tolerance::ELEMENTWISE)
        }
        _ => return None,
    };
    Some((out.map(|out| vec![out]), tolerance))
}
