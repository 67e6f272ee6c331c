use module_core::{Module, Result, Tensor};

use super::arithmetic::decay_gradient;
use super::range::at_least_0;
use super::state_fields::param_state;
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// Stochastic gradient descent that keeps the average of the parameter.
///
/// With gradient `g`, parameter `p`, learning rate `γ` and step `t`:
///
/// ```text
/// g ← g + λ·p                                  weight decay λ
/// p ← p·(1 - l·η) - η·g                        decay l; η ← γ at first
/// a ← a + μ·(p - a)                            μ ← 1 at first
/// η ← γ/(1 + l·γ·t)^α      μ ← 1/max(1, t - t₀)
/// ```
///
/// The average `a` is the `ax` of the state; until step `t₀` it is the parameter.
///
///
/// Source: `torch.optim.ASGD`; Polyak and Juditsky, *Acceleration of stochastic approximation by averaging* (1992).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = ASGD::new(&model, 1e-2)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// # Ok::<(), Error>(())
/// ```
pub type ASGD = RuleOptimizer<ASGDConfig>;

config! {
    /// The arguments of [`ASGD`].
    ///
    /// No optimizer is built with a negative rate, decay or power.
    pub struct ASGDConfig {
        required {
            /// The learning rate; PyTorch's is 1e-2 if none is given.
            lr: f64,
        }
        optional {
            /// How much the parameter decays, times the step.
            lambd: f64 = 1e-4,
            /// The power of the decay of the steps.
            alpha: f64 = 0.75,
            /// The step at which averaging begins.
            t0: f64 = 1e6,
            /// How much of the parameter is added to its gradient.
            weight_decay: f64 = 0.0,
            /// Whether to climb instead of to descend.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// What [`ASGD`] keeps of one parameter: the number of its steps, their sizes and the average.
    pub struct ASGDState {
        /// The average of the parameter.
        ax: Tensor,
        /// The number of steps.
        step: u64,
        /// The size of the next step.
        eta: f32,
        /// The share of the next value in the average.
        mu: f32,
    }
}

impl ASGD {
    /// With PyTorch's defaults for the rest.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        ASGDConfig::new(lr).build(model)
    }
}

impl UpdateRule for ASGDConfig {
    const NAME: &'static str = "ASGD";
    type State = ASGDState;

    fn check(&self) -> Result<()> {
        at_least_0(Self::NAME, "lr", self.lr)?;
        at_least_0(Self::NAME, "lambd", self.lambd)?;
        at_least_0(Self::NAME, "alpha", self.alpha)?;
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
        state: &mut Option<ASGDState>,
    ) -> Result<Tensor> {
        let last = match state {
            Some(state) => state.clone(),
            None => ASGDState {
                ax: value.zeros_like()?,
                step: 0,
                // PyTorch keeps both in single precision.
                eta: self.lr as f32,
                mu: 1.0,
            },
        };
        let grad = decay_gradient(grad, value, self.weight_decay, self.maximize)?;
        let step = last.step.saturating_add(1);
        let eta = f64::from(last.eta);
        let value = value.mul(1.0 - self.lambd * eta)?;
        let value = value.add_scaled(&grad, -eta)?;
        let ax = match last.mu == 1.0 {
            true => value.clone(),
            false => last
                .ax
                .add_scaled(&value.sub(&last.ax)?, f64::from(last.mu))?,
        };
        let t = step as f64;
        let slowed = (1.0 + self.lambd * self.lr * t).powf(self.alpha);
        *state = Some(ASGDState {
            ax,
            step,
            eta: (self.lr / slowed) as f32,
            mu: (1.0 / (t - self.t0).max(1.0)) as f32,
        });
        Ok(value)
    }
}
