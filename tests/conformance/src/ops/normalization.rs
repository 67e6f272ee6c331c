//! Normalizations, attention, classification losses, from a separate file.

use crate::golden::{Case, Tolerance};
use module_core::{
    AttentionOptions, CrossEntropyOptions, NllLossOptions, Reduction, Result, Tensor, fork_rng,
};
use serde_json::Value;

/// The optional inputs after the first, by name.
fn part<'a>(inputs: &'a [Tensor], args: &Value, name: &str) -> Option<&'a Tensor> {
    let parts = args["parts"].as_array().unwrap();
    let place = parts.iter().position(|part| part == name)?;
    inputs.get(1 + place)
}

fn norm(case: &Case, inputs: &[Tensor]) -> Option<Result<Tensor>> {
    let (x, args) = (&inputs[0], &case.args);
    if args["parts"].is_null() {
        return None;
    }
    let (weight, bias) = (part(inputs, args, "weight"), part(inputs, args, "bias"));
    let eps = args["eps"].as_f64();
    let shape = || -> Vec<usize> {
        let sizes = args["normalized_shape"].as_array().unwrap();
        sizes
            .iter()
            .map(|size| size.as_u64().unwrap() as usize)
            .collect()
    };
    let given = (args["given"] == true).then(|| {
        let last = inputs.len();
        (inputs[last - 2].detach(), inputs[last - 1].detach())
    });
    let given = given.as_ref().map(|(mean, var)| (mean, var));
    let groups = || args["num_groups"].as_u64().unwrap() as usize;
    Some(match (case.op.as_str(), eps.unwrap_or(0.0)) {
        ("layer_norm", eps) => x.layer_norm(shape(), weight, bias, eps),
        ("rms_norm", _) => x.rms_norm(shape(), weight, eps),
        ("group_norm", eps) => x.group_norm(groups(), weight, bias, eps),
        ("instance_norm", eps) => x.instance_norm(given, weight, bias, eps),
        ("batch_norm", eps) => match given {
            Some((mean, var)) => x.batch_norm(mean, var, weight, bias, eps),
            None => x.batch_norm_train(weight, bias, eps).map(|(y, ..)| y),
        },
        _ => return None,
    })
}

fn attention(inputs: &[Tensor], args: &Value) -> Result<Tensor> {
    let mask = match inputs.get(3) {
        Some(mask) if args["mask_grad"] == false => Some(mask.detach()),
        mask => mask.cloned(),
    };
    let options = AttentionOptions::new()
        .attn_mask(mask.as_ref())
        .dropout_p(args["dropout_p"].as_f64().unwrap_or(0.0))
        .is_causal(args["is_causal"] == true)
        .scale(args["scale"].as_f64())
        .enable_gqa(args["enable_gqa"] == true);
    fork_rng(5, || {
        inputs[0].scaled_dot_product_attention(&inputs[1], &inputs[2], options)
    })
}

fn loss(case: &Case, inputs: &[Tensor]) -> Option<Result<Tensor>> {
    let (x, target, args) = (&inputs[0], inputs.get(1)?, &case.args);
    let weight = inputs.get(2).map(Tensor::detach);
    let weight = weight.as_ref();
    let ignore_index = args["ignore_index"].as_i64().unwrap_or(-100);
    let reduction = match args["reduction"].as_str()? {
        "none" => Reduction::None,
        "sum" => Reduction::Sum,
        _ => Reduction::Mean,
    };
    Some(match case.op.as_str() {
        "cross_entropy" => {
            let options = CrossEntropyOptions::new()
                .weight(weight)
                .ignore_index(ignore_index)
                .reduction(reduction)
                .label_smoothing(args["label_smoothing"].as_f64().unwrap_or(0.0));
            x.cross_entropy(target, options)
        }
        "nll_loss" => {
            let options = NllLossOptions::new()
                .weight(weight)
                .ignore_index(ignore_index)
                .reduction(reduction);
            x.nll_loss(target, options)
        }
        _ => return None,
    })
}

/// Our outputs for a case of this family and their tolerance, or `None` if the name is unknown here.
pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let x = &inputs[0];
    let statistics = || x.batch_norm_train(None, None, 1e-5);
    let out = match case.op.as_str() {
        "batch_norm_mean" => statistics().map(|(_, mean, _)| mean),
        "batch_norm_var" => statistics().map(|(.., var)| var),
        "scaled_dot_product_attention" => attention(inputs, &case.args),
        _ => norm(case, inputs).or_else(|| loss(case, inputs))?,
    };
    let tolerance = match case.op.as_str() {
        // Far from 0, the variance is the small difference of large squares.
        "batch_norm_var" => Tolerance::DIFFERENCE,
        _ => Tolerance::CONTRACTION,
    };
    Some((out.map(|out| vec![out]), tolerance))
}

/// The same, and operations without a family.
pub(crate) fn run_any(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    run(case, inputs).or_else(|| super::run(case, inputs))
}
