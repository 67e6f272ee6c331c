//! The step of AdamW.

use super::fused::or_composed;
use crate::backend::{AdamWMemory, AdamWStep};
use crate::tensor::{NoGradient, Tensor};
use crate::{Result, ShapeError};

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

/// A parameter after a step of AdamW, which changes the moments, in one pass:
///
/// ```text
/// m ← β₁·m + (1 - β₁)·g      v ← β₂·v + (1 - β₂)·g²
/// p ← p - γ·λ·p - γ/(1 - β₁ᵗ) · m / (√v/√(1 - β₂ᵗ) + ε)
/// ```
///
/// with the greatest `v` so far under the root if the moments have one. The result has no
/// gradient. The memory of the moments is overwritten in place if nothing else shares it; an error leaves
/// them as they were.
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
/// let p = Tensor::from([1.0_f64]);
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
/// let p = adamw_step(&p, &Tensor::from([5.0_f64]), &mut moments, &step)?;
/// assert!((p.item::<f64>()? - 0.9).abs() < 1e-12);
/// assert!((moments.exp_avg.item::<f64>()? - 0.5).abs() < 1e-12);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn adamw_step(
    value: &Tensor,
    grad: &Tensor,
    moments: &mut AdamWMoments,
    step: &AdamWStep,
) -> Result<Tensor> {
    value.check_floating(NAME)?;
    let others = [grad, &moments.exp_avg, &moments.exp_avg_sq];
    for other in others.into_iter().chain(&moments.max_exp_avg_sq) {
        value.check_same(NAME, other)?;
        if value.shape() != other.shape() {
            let (lhs, rhs) = (value.shape().clone(), other.shape().clone());
            let rule = "gradient and moments must have the shape of the parameter".to_owned();
            let op = NAME;
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
    }
    let kernel = value.adamw_kernel(grad, moments, step);
    let moved = or_composed(kernel, || value.adamw_composed(grad, moments, step))?;
    Ok(moved.record([value, grad], |_| NoGradient(NAME)))
}

impl Tensor {
    fn adamw_kernel(
        &self,
        grad: &Self,
        moments: &mut AdamWMoments,
        step: &AdamWStep,
    ) -> Result<Option<Self>> {
        let kernels = self.device().backend().adamw();
        let Some(kernels) = kernels.filter(|kernels| kernels.serves(self.dtype())) else {
            return Ok(None);
        };
        let AdamWMoments {
            exp_avg,
            exp_avg_sq,
            max_exp_avg_sq,
        } = moments;
        for x in [&mut *exp_avg, &mut *exp_avg_sq]
            .into_iter()
            .chain(max_exp_avg_sq.as_mut())
        {
            x.edge = None;
            if !x.is_contiguous() || x.layout.offset() != 0 {
                *x = x.like_shape(x.device().backend().contiguous(x.operand())?);
            }
        }
        let memory = AdamWMemory {
            exp_avg: &mut exp_avg.storage,
            exp_avg_sq: &mut exp_avg_sq.storage,
            max_exp_avg_sq: max_exp_avg_sq.as_mut().map(|max| &mut max.storage),
        };
        let moved = kernels.step(self.operand(), grad.operand(), memory, step)?;
        Ok(Some(self.like_shape(moved)))
    }

    fn adamw_composed(
        &self,
        grad: &Self,
        moments: &mut AdamWMoments,
        step: &AdamWStep,
    ) -> Result<Self> {
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
        Ok(value)
    }
}

#[cfg(test)]
mod tests;
