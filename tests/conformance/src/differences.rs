//! The differences between a device and the recordings.

use module_core::{BackwardOptions, Device, Result, StateDict, Tensor};

use crate::golden::{self, Case, Tolerance};
use crate::ops::{REFUSED, REFUSED_FOR, data};

/// Runs the cases of a family.
pub(crate) type Run = fn(&Case, &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)>;

/// The differences between our results and the recorded ones.
pub(crate) fn differences(
    case: &Case,
    tensors: &StateDict,
    run: Run,
    device: &Device,
) -> Vec<String> {
    let part = |part: &str| case.tensor(tensors, part);
    let inputs: Vec<Tensor> = case
        .inputs_on(tensors, device)
        .iter()
        .map(|x| x.with_grad().unwrap_or_else(|_| x.clone()))
        .collect();
    let Some((out, tolerance)) = run(case, &inputs) else {
        let op = &case.op;
        return vec![format!(
            "no call of `{op}`: add it to the family's file in `tests/conformance/src/ops`"
        )];
    };
    let outs = match out {
        Ok(outs) => outs,
        Err(error) => return vec![format!("refused: {error}")],
    };
    let mut found = Vec::new();
    let mut check = |name: &str, actual: Option<Tensor>, tolerance| {
        let Some(expected) = part(name) else { return };
        let result = match actual {
            Some(actual) => match actual.to_device(&Device::cpu()) {
                Ok(actual) => golden::compare(&actual, expected, tolerance),
                Err(error) => Err(error.to_string()),
            },
            None => Err("missing".to_owned()),
        };
        found.extend(
            result
                .err()
                .map(|difference| format!("{name}: {difference}")),
        );
    };
    check("out", Some(outs[0].clone()), tolerance);
    for (i, more) in outs.iter().enumerate().skip(1) {
        check(&format!("out{i}"), Some(more.clone()), tolerance);
    }
    let Some(grad) = part("gout") else {
        return found;
    };
    let options = BackwardOptions::default();
    let moved = grad.to_device(device);
    if let Err(error) = moved.and_then(|grad| outs[0].backward_with(&grad, options)) {
        check("gin0", None, tolerance);
        found.push(error.to_string());
        return found;
    }
    // The gradient of a broadcast input is a sum, even if the values are exact.
    let tolerance = match case.op.as_str() {
        "add" | "sub" | "mul" | "div" | "where" | "gather" | "index_select" | "softmax"
        | "log_softmax" | "var" | "gelu" | "masked_fill" | "masked_select" => {
            Tolerance::CONTRACTION
        }
        // Scattering adds to zeros, which turns -0 into 0.
        "max_pool2d" | "flip" | "roll" => Tolerance::ELEMENTWISE,
        "layer_norm" | "rms_norm" | "group_norm" | "batch_norm" => Tolerance::DIFFERENCE,
        op if data::adds_up(op) => Tolerance::CONTRACTION,
        name if name.contains("max_pool") => Tolerance::ELEMENTWISE,
        "im2col" | "interpolate" => Tolerance::CONTRACTION,
        _ => tolerance,
    };
    for (i, input) in inputs.iter().enumerate() {
        check(&format!("gin{i}"), input.grad(), tolerance);
    }
    for (i, input) in inputs.iter().enumerate() {
        if input.grad().is_some() && part(&format!("gin{i}")).is_none() {
            found.push(format!("gin{i}: a gradient where PyTorch has none"));
        }
    }
    found
}

/// Whether we intentionally refuse what PyTorch computes.
pub fn is_refused(case: &Case) -> bool {
    let mut reasons = REFUSED_FOR.iter().map(|(key, _)| key);
    REFUSED.contains(&case.key.as_str()) || reasons.any(|key| *key == case.key)
}
