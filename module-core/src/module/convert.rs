//! Changes to a whole tree: modes and flags, and casting, moving and redrawing its tensors, all of them or none.

use super::replay::replay;
use super::{Buffer, Module, Parameter, TensorId, Walk, walk};
use crate::rng::Generator;
use crate::{DType, Device, ModuleError, Result, Tensor};

/// Sets every mode flag.
pub(crate) fn set_training(root: &dyn Module, training: bool) {
    for flag in walk::flags(root) {
        flag.set(training);
    }
}

/// Pauses or resumes the training of every parameter.
pub(crate) fn set_requires_grad(root: &dyn Module, requires_grad: bool) {
    walk::each_parameter(root, &mut |parameter| {
        parameter.set_requires_grad(requires_grad)
    });
}

/// Drops the gradient of every parameter.
pub(crate) fn zero_grad(root: &dyn Module) {
    walk::each_parameter(root, &mut Parameter::zero_grad);
}

/// Casts every floating-point tensor except buffers that keep their dtype.
pub(crate) fn to_dtype(root: &dyn Module, dtype: DType) -> Result<()> {
    if !dtype.is_differentiable() {
        return Err(dtype.error("to_dtype", "a floating-point dtype"));
    }
    let cast = |tensor: &Tensor| match tensor.dtype().is_floating_point() {
        true if !tensor.has_values() => {
            Tensor::absent("to_dtype", tensor.shape(), (dtype, tensor.device()))
        }
        true => tensor.to_dtype(dtype),
        false => Ok(tensor.clone()),
    };
    convert(root, cast, |buffer| !buffer.keeps_dtype())
}

/// Moves every tensor.
pub(crate) fn to_device(root: &dyn Module, device: &Device) -> Result<()> {
    convert(root, |tensor| tensor.to_device(device), |_| true)
}

/// Converts every parameter of a tree, and the buffers that `takes` accepts, and then sets all of them.
fn convert(
    root: &dyn Module,
    f: impl Fn(&Tensor) -> Result<Tensor>,
    takes: impl Fn(&Buffer) -> bool,
) -> Result<()> {
    let every = Walk::new();
    let mut parameters = Vec::new();
    for (_, parameter) in walk::parameters(root, &every) {
        let grad = parameter.grad().map(|grad| f(&grad)).transpose()?;
        parameters.push((parameter, f(&parameter.detach())?, grad));
    }
    let mut buffers = Vec::new();
    let taken = walk::buffers(root, &every).into_iter();
    for (_, buffer) in taken.filter(|(_, buffer)| takes(buffer)) {
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

/// Resets the parameters and buffers that `takes` accepts: computes all new values first, then sets
/// them.
///
/// They are drawn from `generator`, or each from the default one of its device. The parameters are drawn in the same way as
/// when the tree was built, so that a seed reproduces the same values.
pub(crate) fn reset(
    root: &dyn Module,
    generator: Option<&Generator>,
    takes: &dyn Fn(TensorId) -> bool,
) -> Result<()> {
    let mut parameters = walk::parameters(root, &Walk::new());
    parameters.retain(|(_, parameter)| takes(parameter.id()));
    let fixed = parameters.iter().filter(|(_, p)| !p.can_reset());
    let paths: Vec<String> = fixed.map(|(path, _)| path.clone()).collect();
    if !paths.is_empty() {
        return Err(ModuleError::NoInitializer { paths }.into());
    }
    let parameters: Vec<&Parameter> = parameters.into_iter().map(|(_, p)| p).collect();
    let drawn = replay(&parameters, generator)?;
    let mut initial = Vec::new();
    let buffers = walk::buffers(root, &Walk::new()).into_iter();
    for (_, buffer) in buffers.filter(|(_, buffer)| takes(buffer.id())) {
        initial.push((buffer, buffer.initial_value()?));
    }
    for (parameter, value) in parameters.into_iter().zip(drawn) {
        parameter.replace(value, None);
        parameter.mark_loaded(false);
    }
    for (buffer, value) in initial {
        buffer.replace(value);
    }
    Ok(())
}
