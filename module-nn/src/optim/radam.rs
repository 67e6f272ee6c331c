use module_core::{Module, Result, Tensor};

use super::arithmetic::{average_square, decay_gradient, decay_value, lerp, power};
use super::range::{at_least_0, below_1};
use super::state_fields::param_state;
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// [`Adam`](super::Adam) whose first steps, of which the second moment knows little, are rectified.
///
/// With gradient `g`, parameter `p`, learning rate `γ` and step `t`:
///
/// ```text
/// g ← g + λ·p                                  weight decay λ
/// m ← β₁·m + (1 - β₁)·g      v ← β₂·v + (1 - β₂)·g²
/// ρ∞ = 2/(1 - β₂) - 1        ρ = ρ∞ - 2·t·β₂ᵗ/(1 - β₂ᵗ)
/// r = √((ρ - 4)·(ρ - 2)·ρ∞ / ((ρ∞ - 4)·(ρ∞ - 2)·ρ))
/// p ← p - γ·m/(1 - β₁ᵗ) · r·√(1 - β₂ᵗ)/(√v + ε)     if ρ > 5
/// p ← p - γ·m/(1 - β₁ᵗ)                            otherwise
/// ```
///
/// Source: `torch.optim.RAdam`; Liu et al., *On the Variance of the Adaptive Learning Rate and Beyond* (2020).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = RAdam::new(&model, 1e-3)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// # Ok::<(), Error>(())
/// ```
pub type RAdam = RuleOptimizer<RAdamConfig>;

config! {
    /// The arguments of [`RAdam`].
    ///
    /// No optimizer is built with a negative rate, epsilon or decay, or betas outside `[0, 1)`.
    pub struct RAdamConfig {
        required {
            /// The learning rate; PyTorch's is 1e-3 if none is given.
            lr: f64,
        }
        optional {
            /// How much of the first and the second moment is kept.
            betas: (f64, f64) = (0.9, 0.999),
            /// What is added to the root of the second moment.
            eps: f64 = 1e-8,
            /// How much of the parameter decays, as `decoupled_weight_decay` says.
            weight_decay: f64 = 0.0,
            /// Whether the parameter decays by itself, times the learning rate, instead of through its gradient.
            decoupled_weight_decay: bool = false,
            /// Whether to climb instead of to descend.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// What [`RAdam`] keeps of one parameter: the number of its steps and the moments of its gradients.
    pub struct RAdamState {
        /// The first moment.
        exp_avg: Tensor,
        /// The second moment.
        exp_avg_sq: Tensor,
        /// The number of steps.
        step: u64,
    }
}

impl RAdam {
    /// With PyTorch's defaults for the rest.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        RAdamConfig::new(lr).build(model)
    }
}

impl UpdateRule for RAdamConfig {
    const NAME: &'static str = "RAdam";
    type State = RAdamState;

    fn check(&self) -> Result<()> {
        at_least_0(Self::NAME, "lr", self.lr)?;
        at_least_0(Self::NAME, "eps", self.eps)?;
        below_1(Self::NAME, "betas.0", self.betas.0)?;
        below_1(Self::NAME, "betas.1", self.betas.1)?;
        at_least_0(Self::NAME, "weight_decay", self.weight_decay)
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    fn set_lr(&mut self, lr: f64) {
        self.lr = lr;
    }

    fn momentum(&self) -> Option<f64> {
        Some(self.betas.0)
    }

    fn set_momentum(&mut self, momentum: f64) {
        self.betas.0 = momentum;
    }

    fn update(
        &self,
        value: &Tensor,
        grad: &Tensor,
        state: &mut Option<RAdamState>,
    ) -> Result<Tensor> {
        let last = match state {
            Some(state) => state.clone(),
            None => RAdamState {
                exp_avg: value.zeros_like()?,
                exp_avg_sq: value.zeros_like()?,
                step: 0,
            },
        };

        let decoupled = if self.decoupled_weight_decay {
            self.weight_decay
        } else {
            0.0
        };
        let value = decay_value(value, self.lr, decoupled)?;
        let through_gradient = self.weight_decay - decoupled;
        let grad = decay_gradient(grad, &value, through_gradient, self.maximize)?;

        let step = last.step.saturating_add(1);
        let exp_avg = lerp(&last.exp_avg, &grad, 1.0 - self.betas.0)?;
        let exp_avg_sq = average_square(&last.exp_avg_sq, &grad, self.betas.1)?;
        let beta2 = self.betas.1;
        let correction2 = 1.0 - power(beta2, step);
        let moved = exp_avg.div(1.0 - power(self.betas.0, step))?.mul(self.lr)?;
        let rho_inf = 2.0 / (1.0 - beta2) - 1.0;
        let rho = rho_inf - 2.0 * step as f64 * power(beta2, step) / correction2;
        let moved = if rho > 5.0 {
            let rest = (rho_inf - 4.0) * (rho_inf - 2.0) * rho;
            let rectified = ((rho - 4.0) * (rho - 2.0) * rho_inf / rest).sqrt();
            let root = exp_avg_sq.sqrt()?.add(self.eps)?;
            let rate = root.reciprocal()?.mul(correction2.sqrt())?;
            moved.mul(&rate)?.mul(rectified)?
        } else {
            moved
        };
        let value = value.sub(&moved)?;
        *state = Some(RAdamState {
            exp_avg,
            exp_avg_sq,
            step,
        });
        Ok(value)
    }
}
