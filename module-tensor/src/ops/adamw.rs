//! The step of AdamW.

use super::fused::or_composed;
use crate::Result;
use crate::backend::{AdamWMemory, AdamWStep};
use crate::tensor::Tensor;

const NAME: &str = "adamw_step";

/// The state of AdamW for a parameter: tensors of its shape and dtype, zeros at first.
#[derive(Clone, Debug)]
pub struct AdamWMoments {
    /// The first moment.
    pub exp_avg: Tensor,
    /// The second moment.
    pub exp_avg_sq: Tensor,
    /// The greatest second moment so far; with AMSGrad only.
    pub max_exp_avg_sq: Option<Tensor>,
}

/// Moves a parameter by a step of AdamW, which changes the moments too, in one pass:
///
/// ```text
/// m ← β₁·m + (1 - β₁)·g      v ← β₂·v + (1 - β₂)·g²
/// p ← p - γ·λ·p - γ/(1 - β₁ᵗ) · m / (√v/√(1 - β₂ᵗ) + ε)
/// ```
///
/// with the greatest `v` so far under the root if the moments have one. The result has no
/// gradient. The memory of parameter and moments is overwritten if nothing else shares it, so that no other
/// tensor changes; an error leaves them as they were.
///
/// # Errors
///
/// A gradient or moments of another shape, dtype or device; a dtype that is not floating-point.
///
/// # Source
///
/// `torch.optim.AdamW`.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
/// use module_tensor::fused::{AdamWMoments, AdamWStep, adamw_step};
///
/// let mut p = Tensor::from([1.0_f64]);
/// let zeros = p.zeros_like()?;
/// let mut moments = AdamWMoments {
///     exp_avg: zeros.clone(),
///     exp_avg_sq: zeros,
///     max_exp_avg_sq: None,
/// };
/// let step = AdamWStep {
///     lr: 0.1,
///     betas: (0.9, 0.999),
///     eps: 0.0,
///     weight_decay: 0.0,
///     maximize: false,
///     step: 1,
/// };
/// adamw_step(&mut p, &Tensor::from([5.0_f64]), &mut moments, &step)?;
/// assert!((p.item::<f64>()? - 0.9).abs() < 1e-12);
/// assert!((moments.exp_avg.item::<f64>()? - 0.5).abs() < 1e-12);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn adamw_step(
    value: &mut Tensor,
    grad: &Tensor,
    moments: &mut AdamWMoments,
    step: &AdamWStep,
) -> Result<()> {
    let others = [grad, &moments.exp_avg, &moments.exp_avg_sq];
    value.check_step(NAME, others.into_iter().chain(&moments.max_exp_avg_sq))?;
    value.step(NAME, grad, |value| {
        let kernel = value.adamw_kernel(grad, moments, step);
        or_composed(kernel, || value.adamw_composed(grad, moments, step))
    })
}

impl Tensor {
    fn adamw_kernel(
        &mut self,
        grad: &Self,
        moments: &mut AdamWMoments,
        step: &AdamWStep,
    ) -> Result<Option<()>> {
        let kernels = self.device().backend().adamw();
        let Some(kernels) = kernels.filter(|kernels| kernels.serves(self.dtype())) else {
            return Ok(None);
        };
        let AdamWMoments {
            exp_avg,
            exp_avg_sq,
            max_exp_avg_sq,
        } = moments;
        let all = [&mut *self, &mut *exp_avg, &mut *exp_avg_sq].into_iter();
        for x in all.chain(max_exp_avg_sq.as_mut()) {
            x.lie_from_start()?;
        }
        let memory = AdamWMemory {
            value: &mut self.storage,
            exp_avg: &mut exp_avg.storage,
            exp_avg_sq: &mut exp_avg_sq.storage,
            max_exp_avg_sq: max_exp_avg_sq.as_mut().map(|max| &mut max.storage),
        };
        kernels.step(memory, grad.operand(), step).map(Some)
    }

    fn adamw_composed(
        &mut self,
        grad: &Self,
        moments: &mut AdamWMoments,
        step: &AdamWStep,
    ) -> Result<()> {
        // Half precision is rounded after each of PyTorch's operations, of which some are several of ours.
        let rounded = |x: Self| x.to_dtype(self.dtype())?.widened();
        let wide = |x: &Self| x.detach().widened();
        let grad = wide(grad)?.mul(if step.maximize { -1.0 } else { 1.0 })?;
        let (last, (part, near_grad)) = (wide(&moments.exp_avg)?, step.lerp());
        let base = if near_grad { &grad } else { &last };
        let exp_avg = rounded(base.add_scaled(&grad.sub(&last)?, part)?)?;
        let beta2 = step.betas.1;
        let kept = rounded(wide(&moments.exp_avg_sq)?.mul(beta2)?)?;
        let exp_avg_sq = rounded(kept.add(&grad.mul(1.0 - beta2)?.mul(&grad)?)?)?;
        let max_exp_avg_sq = match &moments.max_exp_avg_sq {
            Some(max) => Some(wide(max)?.maximum(&exp_avg_sq)?),
            None => None,
        };
        let second = max_exp_avg_sq.as_ref().unwrap_or(&exp_avg_sq);
        let root = rounded(second.sqrt()?)?.div(step.root_correction())?;
        let root = rounded(rounded(root)?.add(step.eps)?)?;
        let decayed = rounded(wide(self)?.mul(step.decay())?)?;
        let value = decayed.sub(&exp_avg.mul(step.step_size())?.div(&root)?)?;
        let narrow = |x: &Self| x.to_dtype(self.dtype());
        let max_exp_avg_sq = max_exp_avg_sq.as_ref().map(narrow).transpose()?;
        let value = narrow(&value)?;
        *moments = AdamWMoments {
            exp_avg: narrow(&exp_avg)?,
            exp_avg_sq: narrow(&exp_avg_sq)?,
            max_exp_avg_sq,
        };
        *self = value;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
