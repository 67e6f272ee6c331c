//! The arithmetic that optimizers share, in PyTorch's order of operations, which determines rounding.

use module_core::fused::{Real, UpdateFormula, update_elements};
use module_core::{Result, Tensor};

/// The gradient, negated to maximize, plus the weight decay `λ·p`.
#[inline]
pub(super) fn decay_gradient<T: Real>(grad: T, value: T, weight_decay: f64, maximize: bool) -> T {
    let grad = if maximize { -grad } else { grad };
    match weight_decay == 0.0 {
        true => grad,
        false => grad.add_scaled(value, weight_decay),
    }
}

/// The parameter after decoupled weight decay, `p·(1 - γ·λ)`.
#[inline]
pub(super) fn decay_value<T: Real>(value: T, lr: f64, weight_decay: f64) -> T {
    match weight_decay == 0.0 {
        true => value,
        false => value * (1.0 - lr * weight_decay),
    }
}

/// The parameter after decoupled weight decay, and the gradient plus the other kind.
#[inline]
pub(super) fn decay_either<T: Real>(value: T, grad: T, decay: EitherDecay) -> (T, T) {
    let (decoupled, coupled) = match decay.decoupled {
        true => (decay.weight_decay, 0.0),
        false => (0.0, decay.weight_decay),
    };
    let value = decay_value(value, decay.lr, decoupled);
    (value, decay_gradient(grad, value, coupled, decay.maximize))
}

/// The options of [`decay_either`].
pub(super) struct EitherDecay {
    pub(super) lr: f64,
    pub(super) weight_decay: f64,
    pub(super) decoupled: bool,
    pub(super) maximize: bool,
}

/// The average of squares, `β·v + (1 - β)·g²`.
#[inline]
pub(super) fn average_square<T: Real>(average: T, grad: T, beta: f64) -> T {
    (average * beta).add_product(1.0 - beta, grad, grad)
}

/// `x + w·(y - x)` of tensors.
pub(super) fn lerp(x: &Tensor, y: &Tensor, weight: f64) -> Result<Tensor> {
    let mut out = x.clone();
    update_elements([&mut out], [y], Lerp(weight))?;
    Ok(out)
}

#[derive(Clone, Copy)]
struct Lerp(f64);

impl UpdateFormula<1, 1> for Lerp {
    #[inline]
    fn apply<T: Real>(self, [x]: [T; 1], [y]: [T; 1]) -> [T; 1] {
        [x.lerp(y, self.0)]
    }
}

/// A parameter after decoupled weight decay and a step.
#[derive(Clone, Copy)]
pub(super) struct DecayAndMove {
    pub(super) lr: f64,
    pub(super) weight_decay: f64,
    /// The factor by which the update is applied to the parameter.
    pub(super) factor: f64,
}

impl DecayAndMove {
    /// `p·(1 - γ·λ) + f·u`
    pub(super) fn apply_to(self, value: &Tensor, update: &Tensor) -> Result<Tensor> {
        let mut out = value.clone();
        update_elements([&mut out], [update], self)?;
        Ok(out)
    }
}

impl UpdateFormula<1, 1> for DecayAndMove {
    #[inline]
    fn apply<T: Real>(self, [p]: [T; 1], [u]: [T; 1]) -> [T; 1] {
        [decay_value(p, self.lr, self.weight_decay).add_scaled(u, self.factor)]
    }
}

/// `βᵗ`.
pub(super) fn power(beta: f64, step: u64) -> f64 {
    beta.powf(step as f64)
}
