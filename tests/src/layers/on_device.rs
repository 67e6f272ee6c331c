//! Every layer on another device, compared with the CPU.

use module_nn::prelude::*;

use super::{Arguments, Built, Sample, samples};

/// The results of a pass: outputs, gradients of inputs and of parameters, and the state.
struct Pass {
    named: Vec<(String, Tensor)>,
}

/// A forward and a backward pass of a built layer with its inputs on a device.
fn pass(sample: &Sample, device: &Device, training: bool) -> Result<Pass> {
    let built: Box<dyn Built> = sample.built(0);
    let module = built.module();
    module.to_device(device)?;
    match training {
        true => module.train(),
        false => module.eval(),
    }
    let mut inputs = Vec::new();
    for input in &sample.inputs {
        // Moved tensors are contiguous, and draws follow the order in memory.
        let input = input.contiguous()?.to_device(device)?;
        inputs.push(match input.dtype().is_floating_point() {
            true => input.with_grad()?,
            false => input,
        });
    }
    let arguments = Arguments {
        tensors: &inputs,
        ..sample.arguments()
    };
    let outputs = fork_rng(0, || built.run(&arguments))?;
    let mut named = Vec::new();
    let mut total: Option<Tensor> = None;
    for (i, output) in outputs.iter().enumerate() {
        // Lengths of packed sequences stay on the host, as in PyTorch.
        if output.device() != *device && output.dtype().is_floating_point() {
            return Err(Error::custom(format!(
                "output {i} is on {}",
                output.device()
            )));
        }
        named.push((format!("output {i}"), output.to_device(&Device::cpu())?));
        if output.requires_grad() {
            // A different weight for each element.
            let count = i64::try_from(output.numel()).expect("few elements");
            let weights = Tensor::arange(0, count, output.dtype())?.sin()?;
            let weights = weights.reshape(output.shape())?.to_device(device)?;
            let loss = output.mul(&weights)?.sum(..)?;
            total = Some(match total {
                Some(total) => loss.add(&total)?,
                None => loss,
            });
        }
    }
    if let Some(total) = total {
        total.backward()?;
    }
    for (i, input) in inputs.iter().enumerate() {
        named.extend(
            input
                .grad()
                .map(|grad| (format!("gradient of input {i}"), grad)),
        );
    }
    for (key, parameter) in module.named_parameters() {
        let grad = parameter
            .grad()
            .map(|grad| (format!("gradient of {key}"), grad));
        named.extend(grad);
    }
    for (key, value) in &module.state_dict()? {
        named.push((key.to_owned(), value.clone()));
    }
    for (name, value) in &mut named {
        let moved = value.detach().to_device(&Device::cpu())?;
        assert!(
            name.starts_with("output") || value.device() == *device,
            "{name}"
        );
        *value = moved;
    }
    Ok(Pass { named })
}

/// The difference between two tensors, if any. The first argument says which: the layer with its arguments, and the output or
/// the gradient.
pub type Compare = fn(&str, &Tensor, &Tensor) -> std::result::Result<(), String>;

/// The differences between a device and the CPU in the outputs, gradients and states of every recorded configuration of every
/// layer whose name the filter accepts.
pub fn differences(device: &Device, compare: Compare, filter: fn(&str) -> bool) -> Vec<String> {
    let mut failures = Vec::new();
    for sample in samples() {
        if !filter(&sample.name()) {
            continue;
        }
        for training in [false, true] {
            let label = format!("{} (training: {training})", sample.name());
            let expected = pass(&sample, &Device::cpu(), training);
            let actual = pass(&sample, device, training);
            let (expected, actual) = match (expected, actual) {
                (Ok(expected), Ok(actual)) => (expected, actual),
                // Cases that the CPU refuses, such as training with a batch of one.
                (Err(expected), Err(actual)) if expected.to_string() == actual.to_string() => {
                    continue;
                }
                (Err(error), _) | (_, Err(error)) => {
                    failures.push(format!("{label}: {error}"));
                    continue;
                }
            };
            assert_eq!(expected.named.len(), actual.named.len(), "{label}");
            for ((name, expected), (_, actual)) in expected.named.iter().zip(&actual.named) {
                let what = format!("{label}: {name}");
                if let Err(difference) = compare(&what, actual, expected) {
                    failures.push(format!("{what}: {difference}"));
                }
            }
        }
    }
    failures
}
