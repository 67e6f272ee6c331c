use module_core::{Module, Result, Tensor};

use super::arithmetic::{add_quotient, average_square, decay_gradient, decay_value, lerp, power};
use super::range::{at_least_0, below_1};
use super::state_fields::param_state;
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// [`Adam`](super::Adam) with a momentum that looks ahead, as Nesterov's.
///
/// With gradient `g`, parameter `p`, learning rate `γ` and step `t`:
///
/// ```text
/// g ← g + λ·p                                  weight decay λ
/// μₜ = β₁·(1 - ½·0.96^(t·ψ))                   momentum decay ψ
/// m ← β₁·m + (1 - β₁)·g      v ← β₂·v + (1 - β₂)·g²
/// m̂ = μₜ₊₁·m / (1 - μ₁·…·μₜ₊₁) + (1 - μₜ)·g / (1 - μ₁·…·μₜ)
/// p ← p - γ·m̂ / (√(v/(1 - β₂ᵗ)) + ε)
/// ```
///
/// Source: `torch.optim.NAdam`; Dozat, *Incorporating Nesterov Momentum into Adam* (2016).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = NAdam::new(&model, 2e-3)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// # Ok::<(), Error>(())
/// ```
pub type NAdam = RuleOptimizer<NAdamConfig>;

config! {
    /// The arguments of [`NAdam`].
    ///
    /// No optimizer is built with a negative rate, epsilon or decay, or betas outside `[0, 1)`.
    pub struct NAdamConfig {
        required {
            /// The learning rate; PyTorch's is 2e-3 if none is given.
            lr: f64,
        }
        optional {
            /// How much of the first and the second moment is kept.
            betas: (f64, f64) = (0.9, 0.999),
            /// What is added to the root of the second moment.
            eps: f64 = 1e-8,
            /// How much of the parameter decays, as `decoupled_weight_decay` says.
            weight_decay: f64 = 0.0,
            /// How fast the momentum grows toward `betas.0`.
            momentum_decay: f64 = 4e-3,
            /// Whether the parameter decays by itself, times the learning rate, instead of through its gradient.
            decoupled_weight_decay: bool = false,
            /// Whether to climb instead of to descend.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// What [`NAdam`] keeps of one parameter: the number of its steps, the product of its momenta and the moments of its gradients.
    pub struct NAdamState {
        /// The first moment.
        exp_avg: Tensor,
        /// The second moment.
        exp_avg_sq: Tensor,
        /// The number of steps.
        step: u64,
        /// The product of the momenta so far.
        mu_product: f32,
    }
}

impl NAdam {
    /// With PyTorch's defaults for the rest.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        NAdamConfig::new(lr).build(model)
    }
}

impl UpdateRule for NAdamConfig {
    const NAME: &'static str = "NAdam";
    type State = NAdamState;

    fn check(&self) -> Result<()> {
        at_least_0(Self::NAME, "lr", self.lr)?;
        at_least_0(Self::NAME, "eps", self.eps)?;
        below_1(Self::NAME, "betas.0", self.betas.0)?;
        below_1(Self::NAME, "betas.1", self.betas.1)?;
        at_least_0(Self::NAME, "weight_decay", self.weight_decay)?;
        at_least_0(Self::NAME, "momentum_decay", self.momentum_decay)
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
        state: &mut Option<NAdamState>,
    ) -> Result<Tensor> {
        let last = match state {
            Some(state) => state.clone(),
            None => NAdamState {
                exp_avg: value.zeros_like()?,
                exp_avg_sq: value.zeros_like()?,
                step: 0,
                mu_product: 1.0,
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
        let mu = |step: u64| {
            let decay = 0.96_f64.powf(step as f64 * self.momentum_decay);
            self.betas.0 * (1.0 - 0.5 * decay)
        };
        let (now, next) = (mu(step), mu(step.saturating_add(1)));
        // PyTorch keeps the product in single precision.
        let mu_product = last.mu_product * now as f32;
        let product = f64::from(mu_product);
        let exp_avg = lerp(&last.exp_avg, &grad, 1.0 - self.betas.0)?;
        let exp_avg_sq = average_square(&last.exp_avg_sq, &grad, self.betas.1)?;
        let corrected = exp_avg_sq.div(1.0 - power(self.betas.1, step))?;
        let root = corrected.sqrt()?.add(self.eps)?;
        let by_gradient = -self.lr * (1.0 - now) / (1.0 - product);
        let value = add_quotient(&value, by_gradient, &grad, &root)?;
        let by_moment = (-self.lr * next) / (1.0 - product * next);
        let value = add_quotient(&value, by_moment, &exp_avg, &root)?;
        *state = Some(NAdamState {
            exp_avg,
            exp_avg_sq,
            step,
            mu_product,
        });
        Ok(value)
    }
}
