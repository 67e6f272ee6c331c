//! The step of SGD.

use super::fused::or_composed;
use crate::Result;
use crate::backend::{SGDMemory, SGDStep};
use crate::tensor::Tensor;

const NAME: &str = "sgd_step";

/// Moves a parameter by a step of SGD, which changes the momentum too, in one pass:
///
/// ```text
/// g ← g + λ·p                      weight decay λ
/// b ← μ·b + (1 - τ)·g              momentum μ, dampening τ; b ← g at first
/// g ← g + μ·b  (Nesterov) or b
/// p ← p - γ·g
/// ```
///
/// Without momentum, `g` moves the parameter and the buffer is dropped; at first there is none. The result has
/// no gradient. The memory of parameter and buffer is overwritten if nothing else shares it, so that no other
/// tensor changes; an error leaves them as they were.
///
/// # Errors
///
/// A gradient or a buffer of another shape, dtype or device; a dtype that is not floating-point.
///
/// # Source
///
/// `torch.optim.SGD`.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
/// use module_tensor::fused::{SGDStep, sgd_step};
///
/// let step = SGDStep {
///     lr: 0.5,
///     momentum: 0.25,
///     dampening: 0.0,
///     weight_decay: 0.0,
///     nesterov: false,
///     maximize: false,
/// };
/// let (mut p, grad, mut buffer) = (Tensor::from([1.0_f32]), Tensor::from([4.0_f32]), None);
/// sgd_step(&mut p, &grad, &mut buffer, &step)?;
/// assert_eq!(p.item::<f32>()?, -1.0);
/// sgd_step(&mut p, &grad, &mut buffer, &step)?;
/// assert_eq!(p.item::<f32>()?, -3.5);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn sgd_step(
    value: &mut Tensor,
    grad: &Tensor,
    momentum_buffer: &mut Option<Tensor>,
    step: &SGDStep,
) -> Result<()> {
    value.check_step(NAME, [grad].into_iter().chain(&*momentum_buffer))?;
    value.step(NAME, grad, |value| {
        let kernel = value.sgd_kernel(grad, momentum_buffer, step);
        or_composed(kernel, || value.sgd_composed(grad, momentum_buffer, step))
    })
}

impl Tensor {
    fn sgd_kernel(
        &mut self,
        grad: &Self,
        momentum_buffer: &mut Option<Self>,
        step: &SGDStep,
    ) -> Result<Option<()>> {
        let kernels = self.device().backend().sgd();
        let Some(kernels) = kernels.filter(|kernels| kernels.serves(self.dtype())) else {
            return Ok(None);
        };
        let is_first = momentum_buffer.is_none();
        let mut first = None;
        let mut buffer = match (step.momentum != 0.0, &mut *momentum_buffer) {
            (false, _) => None,
            (true, Some(buffer)) => Some(buffer),
            (true, None) => Some(first.insert(self.zeros_like()?)),
        };
        self.lie_from_start()?;
        buffer.as_mut().map_or(Ok(()), |x| x.lie_from_start())?;
        let memory = SGDMemory {
            value: &mut self.storage,
            is_first,
            momentum_buffer: buffer.map(|buffer| &mut buffer.storage),
        };
        kernels.step(memory, grad.operand(), step)?;
        if step.momentum == 0.0 || first.is_some() {
            *momentum_buffer = first;
        }
        Ok(Some(()))
    }

    fn sgd_composed(
        &mut self,
        grad: &Self,
        momentum_buffer: &mut Option<Self>,
        step: &SGDStep,
    ) -> Result<()> {
        let mut grad = match step.maximize {
            true => grad.detach().neg()?,
            false => grad.detach(),
        };
        if step.weight_decay != 0.0 {
            grad = grad.add_scaled(self, step.weight_decay)?;
        }
        if step.momentum == 0.0 {
            *self = self.add_scaled(&grad, -step.lr)?;
            *momentum_buffer = None;
            return Ok(());
        }
        let next = match &*momentum_buffer {
            Some(last) => last
                .detach()
                .mul(step.momentum)?
                .add_scaled(&grad, 1.0 - step.dampening)?,
            None => grad.clone(),
        };
        let moved = match step.nesterov {
            true => grad.add_scaled(&next, step.momentum)?,
            false => next.clone(),
        };
        *self = self.add_scaled(&moved, -step.lr)?;
        *momentum_buffer = Some(next);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
