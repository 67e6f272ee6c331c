use module_core::fused::{Real, UpdateFormula, update_elements};
use module_core::{Module, Result, Tensor};

use super::arithmetic::{average_square, decay_gradient};
use super::range::{at_least_0, from_0_to_1};
use super::rule::{UpdateInPlace, update_copy};
use super::state_fields::{or_first, param_state};
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// Steps scaled by the ratio of past steps to past gradients.
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
/// use module_nn::optim::{AdadeltaState, ParamState};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = Adadelta::new(&model, 1.0)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// let state: &AdadeltaState = optimizer.states().get("weight").unwrap();
/// let slots: Vec<&str> = state.slots()?.into_iter().map(|(name, _)| name).collect();
/// assert_eq!(slots, ["square_avg", "acc_delta", "step"]);
/// # Ok::<(), Error>(())
/// ```
pub type Adadelta = RuleOptimizer<AdadeltaConfig>;

config! {
    /// The arguments of [`Adadelta`].
    ///
    /// It is an error to build an optimizer with a negative rate, epsilon or decay, or `rho` outside `[0, 1]`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::Tolerance;
    /// use module_nn::prelude::*;
    ///
    /// let model = [Parameter::new(Tensor::from([1.0_f32, -2.0]))?];
    /// let config = AdadeltaConfig::new(1.0)
    ///     .rho(0.5)
    ///     .eps(0.01)
    ///     .weight_decay(0.0)
    ///     .maximize(true);
    /// let mut optimizer = config.build(&model)?;
    /// for _ in 0..2 {
    ///     model.zero_grad();
    ///     let gain = model[0].tensor().square()?.neg()?.sum(..)?;
    ///     gain.backward()?;
    ///     optimizer.step(&model)?;
    /// }
    /// let expected = Tensor::from([0.7050_f32, -1.6996]); // PyTorch's
    /// assert!(model[0].detach().allclose(&expected, Tolerance::new().atol(1e-4))?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct AdadeltaConfig {
        required {
            /// The learning rate; PyTorch's is 1.0 if none is given.
            lr: f64,
        }
        optional {
            /// The decay of the averages.
            rho: f64 = 0.9,
            /// Added to the averages.
            eps: f64 = 1e-6,
            /// The weight decay, added to the gradient.
            weight_decay: f64 = 0.0,
            /// Whether to maximize instead of minimize.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// The state of [`Adadelta`] for one parameter: the number of its steps and the averages of the squares of its
    /// gradients and steps.
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
    /// Makes the optimizer with PyTorch's defaults for the other options.
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
        update_copy(step, self, value, grad, state)
    }

    fn update_in_place() -> Option<UpdateInPlace<Self>> {
        Some(UpdateInPlace(step))
    }
}

fn step(
    options: &AdadeltaConfig,
    value: &mut Tensor,
    grad: &Tensor,
    state: &mut Option<AdadeltaState>,
) -> Result<()> {
    let state = or_first(state, value)?;
    let written = [value, &mut state.square_avg, &mut state.acc_delta];
    update_elements(written, [grad], Step { options })?;
    state.step = state.step.saturating_add(1);
    Ok(())
}

/// The parameter, and the averages of its squared gradients and steps.
#[derive(Clone, Copy)]
struct Step<'a> {
    options: &'a AdadeltaConfig,
}

impl UpdateFormula<3, 1> for Step<'_> {
    #[inline]
    fn apply<T: Real>(self, [p, v, u]: [T; 3], [g]: [T; 1]) -> [T; 3] {
        let AdadeltaConfig { lr, rho, eps, .. } = *self.options;
        let g = decay_gradient(g, p, self.options.weight_decay, self.options.maximize);
        let v = average_square(v, g, rho);
        let delta = (u + eps).sqrt() / (v + eps).sqrt() * g;
        let u = average_square(u, delta, rho);
        [p.add_scaled(delta, -lr), v, u]
    }
}
