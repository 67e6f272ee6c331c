//! Casting, moving and drawing anew the tensors of a tree: all of them, or none.

use super::{Module, Walk, walk};
use crate::rng::Generator;
use crate::{ErrorKind, Result, Tensor};

/// Converts every tensor of a tree first and sets all of them then.
pub(crate) fn convert(root: &dyn Module, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<()> {
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
    }
    for (buffer, value) in initial {
        buffer.replace(value);
    }
    Ok(())
}
