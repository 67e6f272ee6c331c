//! Clipping of gradients of divided layers.

use module_nn::optim::clip_grad_norm as clip_own;
use module_nn::prelude::*;

use super::state::divided_dims;
use crate::{Comm, ReduceOp};

/// Scales the gradients of a model with divided layers so that their norm, over all parameters of all ranks as one vector,
/// is at most `max_norm`, and returns the original norm: [`clip_grad_norm`](module_nn::optim::clip_grad_norm) of the whole
/// model. What is not divided counts once. All ranks call it.
///
/// # Errors
///
/// No gradients, a `max_norm` that is negative or NaN; those of the collectives.
///
/// # Example
///
/// ```
/// use module_dist::LocalComm;
/// use module_dist::parallel::{self, ColumnParallelLinear};
/// use module_nn::prelude::*;
///
/// let norms = LocalComm::run(2, |comm| {
///     let layer = ColumnParallelLinear::new(&LinearConfig::new(1, 4).bias(false), comm.clone())?;
///     layer.call(Tensor::ones([1, 1], DType::F32)?)?.sum(..)?.backward()?;
///     parallel::clip_grad_norm(&layer, 1.0, &*comm)
/// })?;
/// assert!(norms.iter().all(|norm| (norm - 2.0).abs() < 1e-6));
/// # Ok::<(), Error>(())
/// ```
pub fn clip_grad_norm(model: &dyn Module, max_norm: f64, comm: &dyn Comm) -> Result<f64> {
    // The arguments are checked, and gradients looked for, as in one process.
    let checked = if max_norm >= 0.0 {
        f64::INFINITY
    } else {
        max_norm
    };
    clip_own(model, checked)?;
    let divided = divided_dims(model);
    let (mut own, mut shared) = (0.0, 0.0);
    for (path, parameter) in model.named_parameters() {
        let Some(grad) = parameter.grad() else {
            continue;
        };
        let norm = no_grad(|| grad.norm(2.0, ..))?;
        let norm: f64 = norm.to_dtype(DType::F64)?.item()?;
        match divided.contains_key(&path) {
            true => own += norm * norm,
            false => shared += norm * norm,
        }
    }
    let divided = comm.all_reduce(&Tensor::from(own), ReduceOp::Sum)?;
    let total = (divided.item::<f64>()? + shared).sqrt();
    let factor = max_norm / (total + 1e-6);
    // A NaN factor reaches the gradients, as in one process.
    if factor >= 1.0 {
        return Ok(total);
    }
    for parameter in model.parameters() {
        if let Some(grad) = parameter.grad() {
            parameter.set_grad(no_grad(|| grad.mul(factor))?)?;
        }
    }
    Ok(total)
}
