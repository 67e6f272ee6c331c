//! Linear maps, instance norm statistics, fractional pooling, CTC loss, recurrent layers; views, masks, extremes over dims.

use crate::golden::{Case, Tolerance};
use module_core::fused::{self, RecurrentOp, RecurrentOptions};
use module_core::{Reduction, Result, Shape, Tensor};
use module_nn::{CTCLossConfig, functional};
use serde_json::Value;

use super::{Different, dims, ints};
use super::{data, more, normalization, shuffle, windows};

fn list(value: &Value) -> Vec<usize> {
    ints(value).iter().map(|&n| n as usize).collect()
}

fn sizes<const N: usize>(value: &Value) -> [usize; N] {
    list(value).try_into().unwrap()
}

fn views(case: &Case, inputs: &[Tensor]) -> Option<Result<Tensor>> {
    let (x, args) = (&inputs[0], &case.args);
    let keep = args["keepdim"] == true;
    Some(match case.op.as_str() {
        "amax" => either!(keep, x, amax / amax_keepdim, dims(x, args).as_slice()),
        "amin" => either!(keep, x, amin / amin_keepdim, dims(x, args).as_slice()),
        "contiguous" => x.contiguous(),
        "masked_select" => x.masked_select(&inputs[1]),
        "t" => x.t(),
        "view" => x.view(ints(&args["shape"])),
        _ => return None,
    })
}

fn ctc(inputs: &[Tensor], args: &Value) -> Result<Tensor> {
    let options = CTCLossConfig::new()
        .blank(args["blank"].as_u64().unwrap() as usize)
        .reduction(match args["reduction"].as_str().unwrap() {
            "none" => Reduction::None,
            "sum" => Reduction::Sum,
            _ => Reduction::Mean,
        })
        .zero_infinity(args["zero_infinity"] == true);
    let [x, targets, times, letters] = inputs else {
        unreachable!("four inputs");
    };
    let x = x.log_softmax(-1)?;
    functional::ctc_loss(&x, targets, times, letters, &options)
}

/// The concatenation of all results.
fn recurrent(inputs: &[Tensor], args: &Value) -> Result<Tensor> {
    let op = match args["op"].as_str().unwrap() {
        "tanh" => RecurrentOp::Tanh,
        "relu" => RecurrentOp::Relu,
        "lstm" => RecurrentOp::Lstm,
        _ => RecurrentOp::Gru,
    };
    let (states, weights) = inputs.split_at(if op == RecurrentOp::Lstm { 3 } else { 2 });
    let parts = args["parts"].as_array().unwrap();
    let part = |name: &str| parts.iter().position(|p| p == name).map(|i| &weights[i]);
    let batch_sizes = list(&args["batch_sizes"]);
    let options = RecurrentOptions::new(op, part("weight_hh").unwrap(), &batch_sizes)
        .bias_hh(part("bias_hh"))
        .weight_hr(part("weight_hr"))
        .reverse(args["reverse"] == true);
    let out = fused::recurrent(&states[0], &states[1], states.get(2), &options)?;
    let all = [Some(out.output), Some(out.hidden), out.cell];
    let flat: Result<Vec<Tensor>> = (all.iter().flatten())
        .map(|part| part.flatten(0, -1))
        .collect();
    Tensor::cat(&flat?, 0)
}

pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let (x, args) = (&inputs[0], &case.args);
    if let Some(out) = views(case, inputs) {
        return Some((out.map(|out| vec![out]), Tolerance::ELEMENTWISE));
    }
    let kernel = &args["kernel_size"];
    let places = |(values, places)| vec![values, places];
    let out = match case.op.as_str() {
        "linear" => x.linear(&inputs[1], inputs.get(2)).map(|out| vec![out]),
        "sum_to" => {
            let shape: Shape = list(&args["shape"]).into();
            x.sum_to(&shape).map(|out| vec![out])
        }
        "instance_norm_train" => x
            .instance_norm_train(inputs.get(1), inputs.get(2), 1e-5)
            .map(|(out, mean, var)| vec![out, mean, var]),
        "fractional_max_pool2d" => x
            .fractional_max_pool::<2>(
                sizes(kernel),
                sizes(&args["output_size"]),
                &inputs[1].detach(),
            )
            .map(places),
        "fractional_max_pool3d" => x
            .fractional_max_pool::<3>(
                sizes(kernel),
                sizes(&args["output_size"]),
                &inputs[1].detach(),
            )
            .map(places),
        "ctc_loss" => ctc(inputs, args).map(|out| vec![out]),
        "recurrent" => recurrent(inputs, args).map(|out| vec![out]),
        _ => return None,
    };
    Some((out, Tolerance::CONTRACTION))
}

/// Our gradient is that of PyTorch's `max` and `min`, which assign it to the NaN alone.
const NAN: &str = "PyTorch's `amax` and `amin` divide 0 by 0 where NaN wins";

pub(crate) const DIFFERENT: &Different = &[
    ("op.amax.special.f32", "gin0", NAN),
    ("op.amax.special.f64", "gin0", NAN),
    ("op.amin.special.f32", "gin0", NAN),
    ("op.amin.special.f64", "gin0", NAN),
];

pub(crate) const DIFFERENT_REST: &Different = &[(
    "op.ctc_loss.special.f32",
    "gin0",
    "PyTorch subtracts infinities where a label cannot be",
)];

/// Operations of any family with inputs that contain NaN or infinities, are empty or have no dimensions.
pub(crate) fn run_any(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let first = run(case, inputs).or_else(|| more::run(case, inputs));
    let second = first.or_else(|| data::run(case, inputs));
    let third = second.or_else(|| windows::run(case, inputs));
    let fourth = third.or_else(|| shuffle::run(case, inputs));
    let fifth = fourth.or_else(|| normalization::run(case, inputs));
    fifth.or_else(|| super::run(case, inputs))
}
