//! Casting and moving the tensors of a tree.

use super::{Module, Walk, walk};
use crate::{Result, Tensor};

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
