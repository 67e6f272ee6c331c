//! Multiply-adds, by torchinfo's rules.

use super::tensor_info::TensorInfo;
use super::trace::ParameterInfo;

/// The multiply-adds of a module without submodules, from its own parameters and its first output.
pub(super) fn mult_adds(parameters: &[ParameterInfo], output: Option<&TensorInfo>) -> u64 {
    let Some(output) = output else { return 0 };
    let sizes: Vec<u64> = output.shape.iter().map(|&size| size as u64).collect();
    let product = |sizes: &[u64]| sizes.iter().fold(1_u64, |n, &size| n.saturating_mul(size));
    let batch = product(sizes.get(..1).unwrap_or_default());
    let is_weight = |parameter: &&ParameterInfo| parameter.name == "weight";
    let weight = parameters.iter().find(is_weight);
    let slides = weight.is_some_and(|weight| weight.tensor.shape.rank() >= 3);
    let positions = if slides {
        batch.saturating_mul(product(sizes.get(2..).unwrap_or_default()))
    } else {
        batch
    };
    let steps = product(sizes.get(..2).unwrap_or(&sizes));
    let each = parameters.iter().map(|parameter| {
        let name = parameter.name.as_str();
        let times = match name {
            "weight" | "bias" => positions,
            _ if name.contains("weight") || name.contains("bias") => steps,
            _ => 0,
        };
        times.saturating_mul(parameter.tensor.shape.numel() as u64)
    });
    each.fold(0, u64::saturating_add)
}
