use module_core::{Module, Result, Tensor};

use super::adam_step::{AdamNumbers, adam_step, check_adam, check_amsgrad};
use super::rule::{UpdateInPlace, update_copy};
use super::{AdamState, RuleOptimizer, UpdateRule};
use crate::config::config;

/// Steps by the first moment of the gradient over the root of the second.
///
/// With gradient `g`, parameter `p`, learning rate `γ` and step `t`:
///
/// ```text
/// g ← g + λ·p                                  weight decay λ
/// m ← β₁·m + (1 - β₁)·g      v ← β₂·v + (1 - β₂)·g²
/// p ← p - γ/(1 - β₁ᵗ) · m / (√v/√(1 - β₂ᵗ) + ε)
/// ```
///
/// The weight decay passes through the moments; that of [`AdamW`](super::AdamW) does not.
///
/// Source: `torch.optim.Adam`; Kingma and Ba, *Adam: A Method for Stochastic Optimization* (2015).
///
/// # Example
///
/// ```
/// use module_nn::optim::{AdamState, ParamState};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer: Adam = AdamConfig::new(1e-3).weight_decay(1e-4).build(&model)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// let state: &AdamState = optimizer.states().get("weight").unwrap();
/// let slots: Vec<&str> = state.slots()?.into_iter().map(|(name, _)| name).collect();
/// assert_eq!(slots, ["exp_avg", "exp_avg_sq", "step"]);
/// # Ok::<(), Error>(())
/// ```
pub type Adam = RuleOptimizer<AdamConfig>;

config! {
    /// The arguments of [`Adam`].
    ///
    /// It is an error to build an optimizer with a negative rate, epsilon or decay, or betas outside `[0, 1)`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::Tolerance;
    /// use module_nn::prelude::*;
    ///
    /// let model = [Parameter::new(Tensor::from([1.0_f32, -2.0]))?];
    /// let config = AdamConfig::new(0.1)
    ///     .betas((0.8, 0.99))
    ///     .eps(1e-6)
    ///     .amsgrad(true)
    ///     .maximize(true);
    /// let mut optimizer = config.build(&model)?;
    /// for _ in 0..2 {
    ///     model.zero_grad();
    ///     let gain = model[0].tensor().square()?.neg()?.sum(..)?;
    ///     gain.backward()?;
    ///     optimizer.step(&model)?;
    /// }
    /// let expected = Tensor::from([0.8007_f32, -1.8003]); // PyTorch's
    /// assert!(model[0].detach().allclose(&expected, Tolerance::new().atol(1e-4))?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct AdamConfig {
        required {
            /// The learning rate; PyTorch's is 1e-3 if none is given.
            lr: f64,
        }
        optional {
            /// The decay rates of the first and second moment.
            betas: (f64, f64) = (0.9, 0.999),
            /// Added to the root of the second moment.
            eps: f64 = 1e-8,
            /// The weight decay, added to the gradient.
            weight_decay: f64 = 0.0,
            /// Whether to use the maximum of past second moments (AMSGrad).
            amsgrad: bool = false,
            /// Whether to maximize instead of minimize.
            maximize: bool = false,
        }
    }
}

impl Adam {
    /// Makes the optimizer with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        AdamConfig::new(lr).build(model)
    }
}

impl UpdateRule for AdamConfig {
    const NAME: &'static str = "Adam";
    type State = AdamState;

    fn check(&self) -> Result<()> {
        check_adam(Self::NAME, self.lr, self.betas, self.eps, self.weight_decay)
    }

    fn check_states(&self, states: &[&AdamState]) -> Result<()> {
        check_amsgrad(Self::NAME, self.amsgrad, states)
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
        state: &mut Option<AdamState>,
    ) -> Result<Tensor> {
        update_copy(step, self, value, grad, state)
    }

    fn update_in_place() -> Option<UpdateInPlace<Self>> {
        Some(UpdateInPlace(step))
    }
}

fn step(
    options: &AdamConfig,
    value: &mut Tensor,
    grad: &Tensor,
    state: &mut Option<AdamState>,
) -> Result<()> {
    let numbers = AdamNumbers {
        lr: options.lr,
        betas: options.betas,
        eps: options.eps,
        decay: 1.0,
        weight_decay: options.weight_decay,
        maximize: options.maximize,
    };
    adam_step(value, grad, state, options.amsgrad, numbers)
}
