use module_core::fused::{Real, UpdateFormula, update_elements};
use module_core::{Module, Result, Tensor};

use super::adam_step::check_adam;
use super::arithmetic::{decay_gradient, power};
use super::rule::{UpdateInPlace, update_copy};
use super::state_fields::{or_first, param_state};
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// [`Adam`](super::Adam) with a decaying maximum of the gradients instead of the second moment.
///
/// With gradient `g`, parameter `p`, learning rate `γ` and step `t`:
///
/// ```text
/// g ← g + λ·p                                  weight decay λ
/// m ← β₁·m + (1 - β₁)·g      u ← max(β₂·u, |g| + ε)
/// p ← p - γ/(1 - β₁ᵗ) · m/u
/// ```
///
/// Source: `torch.optim.Adamax`; Kingma and Ba, *Adam: A Method for Stochastic Optimization* (2015).
///
/// # Example
///
/// ```
/// use module_nn::optim::{AdamaxState, ParamState};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = Adamax::new(&model, 2e-3)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// let state: &AdamaxState = optimizer.states().get("weight").unwrap();
/// let slots: Vec<&str> = state.slots()?.into_iter().map(|(name, _)| name).collect();
/// assert_eq!(slots, ["exp_avg", "exp_inf", "step"]);
/// # Ok::<(), Error>(())
/// ```
pub type Adamax = RuleOptimizer<AdamaxConfig>;

config! {
    /// The arguments of [`Adamax`].
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
    /// let config = AdamaxConfig::new(0.1)
    ///     .betas((0.8, 0.9))
    ///     .eps(1e-6)
    ///     .weight_decay(0.1)
    ///     .maximize(true);
    /// let mut optimizer = config.build(&model)?;
    /// for _ in 0..2 {
    ///     model.zero_grad();
    ///     let gain = model[0].tensor().square()?.neg()?.sum(..)?;
    ///     gain.backward()?;
    ///     optimizer.step(&model)?;
    /// }
    /// let expected = Tensor::from([0.7951_f32, -1.7977]); // PyTorch's
    /// assert!(model[0].detach().allclose(&expected, Tolerance::new().atol(1e-4))?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct AdamaxConfig {
        required {
            /// The learning rate; PyTorch's is 2e-3 if none is given.
            lr: f64,
        }
        optional {
            /// The decay rates of the first moment and of the maximum gradient.
            betas: (f64, f64) = (0.9, 0.999),
            /// Added to the size of the gradient.
            eps: f64 = 1e-8,
            /// The weight decay, added to the gradient.
            weight_decay: f64 = 0.0,
            /// Whether to maximize instead of minimize.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// The state of [`Adamax`] for one parameter: the number of its steps, the first moment and the decaying maximum of its
    /// gradients.
    pub struct AdamaxState {
        /// The first moment.
        exp_avg: Tensor,
        /// The decaying maximum of the gradients.
        exp_inf: Tensor,
        /// The number of steps.
        step: u64,
    }
}

impl Adamax {
    /// Makes the optimizer with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        AdamaxConfig::new(lr).build(model)
    }
}

impl UpdateRule for AdamaxConfig {
    const NAME: &'static str = "Adamax";
    type State = AdamaxState;

    fn check(&self) -> Result<()> {
        check_adam(Self::NAME, self.lr, self.betas, self.eps, self.weight_decay)
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
        state: &mut Option<AdamaxState>,
    ) -> Result<Tensor> {
        update_copy(step, self, value, grad, state)
    }

    fn update_in_place() -> Option<UpdateInPlace<Self>> {
        Some(UpdateInPlace(step))
    }
}

fn step(
    options: &AdamaxConfig,
    value: &mut Tensor,
    grad: &Tensor,
    state: &mut Option<AdamaxState>,
) -> Result<()> {
    let state = or_first(state, value)?;
    let step = state.step.saturating_add(1);
    let rate = options.lr / (1.0 - power(options.betas.0, step));
    let written = [value, &mut state.exp_avg, &mut state.exp_inf];
    update_elements(written, [grad], Step { options, rate })?;
    state.step = step;
    Ok(())
}

/// The parameter, its first moment and its maximum gradient.
#[derive(Clone, Copy)]
struct Step<'a> {
    options: &'a AdamaxConfig,
    rate: f64,
}

impl UpdateFormula<3, 1> for Step<'_> {
    #[inline]
    fn apply<T: Real>(self, [p, m, u]: [T; 3], [g]: [T; 1]) -> [T; 3] {
        let AdamaxConfig { betas, eps, .. } = *self.options;
        let g = decay_gradient(g, p, self.options.weight_decay, self.options.maximize);
        let m = m.lerp(g, 1.0 - betas.0);
        let u = (u * betas.1).maximum(g.abs() + eps);
        [p.add_quotient(-self.rate, m, u), m, u]
    }
}
