use module_core::{Module, Result, Tensor};

use super::arithmetic::{add_product, average_square, decay_gradient};
use super::range::{at_least_0, from_0_to_1};
use super::state_fields::param_state;
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// Steps as large as the steps before were, in proportion to the gradients.
///
/// With gradient `g`, parameter `p`, learning rate `γ` and step `t`:
///
/// ```text
/// g ← g + λ·p                                  weight decay λ
/// v ← ρ·v + (1 - ρ)·g²
/// d = √(u + ε) / √(v + ε) · g
/// u ← ρ·u + (1 - ρ)·d²
/// p ← p - γ·d
/// ```
///
/// Source: `torch.optim.Adadelta`; Zeiler, *ADADELTA: An Adaptive Learning Rate Method* (2012).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = Adadelta::new(&model, 1.0)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// # Ok::<(), Error>(())
/// ```
pub type Adadelta = RuleOptimizer<AdadeltaConfig>;

config! {
    /// The arguments of [`Adadelta`].
    ///
    /// No optimizer is built with a negative rate, epsilon or decay, or `rho` outside `[0, 1]`.
    pub struct AdadeltaConfig {
        required {
            /// The learning rate; PyTorch's is 1.0 if none is given.
            lr: f64,
        }
        optional {
            /// How much of the averages is kept.
            rho: f64 = 0.9,
            /// What is added to the averages.
            eps: f64 = 1e-6,
            /// How much of the parameter is added to its gradient.
            weight_decay: f64 = 0.0,
            /// Whether to climb instead of to descend.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// What [`Adadelta`] keeps of one parameter: the number of its steps and the averages of the squares of its gradients and steps.
    pub struct AdadeltaState {
        /// The average of the squares of the gradients.
        square_avg: Tensor,
        /// The average of the squares of the steps.
        acc_delta: Tensor,
        /// The number of steps.
        step: u64,
    }
}

impl Adadelta {
    /// With PyTorch's defaults for the rest.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        AdadeltaConfig::new(lr).build(model)
    }
}

impl UpdateRule for AdadeltaConfig {
    const NAME: &'static str = "Adadelta";
    type State = AdadeltaState;

    fn check(&self) -> Result<()> {
        at_least_0(Self::NAME, "lr", self.lr)?;
        from_0_to_1(Self::NAME, "rho", self.rho)?;
        at_least_0(Self::NAME, "eps", self.eps)?;
        at_least_0(Self::NAME, "weight_decay", self.weight_decay)
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    fn set_lr(&mut self, lr: f64) {
        self.lr = lr;
    }

    fn update(
        &self,
        value: &Tensor,
        grad: &Tensor,
        state: &mut Option<AdadeltaState>,
    ) -> Result<Tensor> {
        let last = match state {
            Some(state) => state.clone(),
            None => AdadeltaState {
                square_avg: value.zeros_like()?,
                acc_delta: value.zeros_like()?,
                step: 0,
            },
        };
        let grad = decay_gradient(grad, value, self.weight_decay, self.maximize)?;
        let square_avg = average_square(&last.square_avg, &grad, self.rho)?;
        let std = square_avg.add(self.eps)?.sqrt()?;
        let delta = last.acc_delta.add(self.eps)?.sqrt()?;
        let delta = delta.div(&std)?.mul(&grad)?;
        let kept = last.acc_delta.mul(self.rho)?;
        let acc_delta = add_product(&kept, 1.0 - self.rho, &delta, &delta)?;
        let value = value.add_scaled(&delta, -self.lr)?;
        *state = Some(AdadeltaState {
            square_avg,
            acc_delta,
            step: last.step.saturating_add(1),
        });
        Ok(value)
    }
}
