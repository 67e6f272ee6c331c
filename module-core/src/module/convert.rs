//! What changes a whole tree: its modes and flags, and casting, moving and drawing anew its tensors,
//! all of them or none.

use super::{Module, Parameter, Walk, walk};
use crate::rng::Generator;
use crate::{DType, Device, ErrorKind, Result, Tensor};

/// Sets every mode flag.
pub(crate) fn set_training(root: &dyn Module, training: bool) {
    for flag in walk::flags(root) {
        flag.set(training);
    }
}

/// Freezes every parameter, or lets it learn again.
pub(crate) fn set_requires_grad(root: &dyn Module, requires_grad: bool) {
    walk::each_parameter(root, &mut |parameter| {
        parameter.set_requires_grad(requires_grad)
    });
}

/// Drops the gradient of every parameter.
pub(crate) fn zero_grad(root: &dyn Module) {
    walk::each_parameter(root, &mut Parameter::zero_grad);
}

/// Casts every floating-point tensor.
pub(crate) fn to_dtype(root: &dyn Module, dtype: DType) -> Result<()> {
    if !dtype.is_floating_point() {
        let needs = "a floating-point dtype";
        return Err(ErrorKind::UnsupportedDType {
            op: "to_dtype",
            dtype,
            needs,
        }
        .into());
    }
    convert(root, |tensor| match tensor.dtype().is_floating_point() {
        true => tensor.to_dtype(dtype),
        false => Ok(tensor.clone()),
    })
}

/// Moves every tensor.
pub(crate) fn to_device(root: &dyn Module, device: &Device) -> Result<()> {
    convert(root, |tensor| tensor.to_device(device))
}

/// Converts every tensor of a tree first and sets all of them then.
fn convert(root: &dyn Module, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<()> {
    let every = Walk::new();
    let mut parameters = Vec::new();
    for (_, parameter) in walk::parameters(root, &every) {
        let grad = parameter.grad().map(|grad| f(&grad)).transpose()?;
        parameters.push((parameter, f(&parameter.detach())?, grad));
    }
    let mut buffers = Vec::new();
    for (_, buffer) in walk::buffers(root, &every) {
        buffers.push((buffer, f(&buffer.tensor())?));
    }
    for (parameter, value, grad) in parameters {
        parameter.replace(value, grad);
    }
    for (buffer, value) in buffers {
        buffer.replace(value);
    }
    Ok(())
}

/// Draws every parameter anew and finds every buffer's first value, and sets all of them then.
pub(crate) fn reset(root: &dyn Module, generator: &mut Generator) -> Result<()> {
    let parameters = walk::parameters(root, &Walk::new());
    let fixed = parameters.iter().filter(|(_, p)| !p.can_reset());
    let paths: Vec<String> = fixed.map(|(path, _)| path.clone()).collect();
    if !paths.is_empty() {
        return Err(ErrorKind::NoInitialiser { paths }.into());
    }
    let mut drawn = Vec::new();
    for (_, parameter) in parameters {
        drawn.push((parameter, parameter.drawn(generator)?));
    }
    let mut initial = Vec::new();
    for (_, buffer) in walk::buffers(root, &Walk::new()) {
        initial.push((buffer, buffer.initial()?));
    }
    for (parameter, value) in drawn {
        parameter.replace(value, None);
        parameter.mark_loaded(false);
    }
    for (buffer, value) in initial {
        buffer.replace(value);
    }
    Ok(())
}
