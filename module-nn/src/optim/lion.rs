use module_core::fused::{Real, UpdateFormula, update_elements};
use module_core::{Module, Result, Tensor};

use super::arithmetic::{decay_gradient, decay_value};
use super::range::{at_least_0, below_1};
use super::rule::{UpdateInPlace, update_copy};
use super::state_fields::{or_first, param_state};
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// Steps by the sign of a momentum, with decoupled weight decay.
///
/// With gradient `g`, parameter `p`, learning rate `γ` and step `t`:
///
/// ```text
/// p ← p - γ·λ·p                                weight decay λ
/// p ← p - γ·sign(β₁·m + (1 - β₁)·g)
/// m ← β₂·m + (1 - β₂)·g
/// ```
///
/// Source: Chen et al., *Symbolic Discovery of Optimization Algorithms* (2023).
///
/// # Example
///
/// ```
/// use module_nn::optim::{LionState, ParamState};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = Lion::new(&model, 1e-4)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// let state: &LionState = optimizer.states().get("weight").unwrap();
/// let slots: Vec<&str> = state.slots()?.into_iter().map(|(name, _)| name).collect();
/// assert_eq!(slots, ["exp_avg"]);
/// # Ok::<(), Error>(())
/// ```
pub type Lion = RuleOptimizer<LionConfig>;

config! {
    /// The arguments of [`Lion`].
    ///
    /// It is an error to build an optimizer with a negative rate or decay, or betas outside `[0, 1)`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::Tolerance;
    /// use module_nn::prelude::*;
    ///
    /// let model = [Parameter::new(Tensor::from([1.0_f32, -2.0]))?];
    /// let config = LionConfig::new(0.1)
    ///     .betas((0.8, 0.9))
    ///     .weight_decay(0.1)
    ///     .maximize(true);
    /// let mut optimizer = config.build(&model)?;
    /// for _ in 0..2 {
    ///     model.zero_grad();
    ///     let gain = model[0].tensor().square()?.neg()?.sum(..)?;
    ///     gain.backward()?;
    ///     optimizer.step(&model)?;
    /// }
    /// let expected = Tensor::from([0.7811_f32, -1.7612]);
    /// assert!(model[0].detach().allclose(&expected, Tolerance::new().atol(1e-4))?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct LionConfig {
        required {
            /// The learning rate; the paper recommends a third to a tenth of AdamW's.
            lr: f64,
        }
        optional {
            /// The fractions of the momentum used in a step, and kept.
            betas: (f64, f64) = (0.9, 0.99),
            /// The weight decay, multiplied by the learning rate.
            weight_decay: f64 = 0.0,
            /// Whether to maximize instead of minimize.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// The state of [`Lion`] for one parameter: the momentum.
    pub struct LionState {
        /// The momentum.
        exp_avg: Tensor,
    }
}

impl Lion {
    /// Makes the optimizer with the paper's defaults for the other options.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        LionConfig::new(lr).build(model)
    }
}

impl UpdateRule for LionConfig {
    const NAME: &'static str = "Lion";
    type State = LionState;

    fn check(&self) -> Result<()> {
        at_least_0(Self::NAME, "lr", self.lr)?;
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
        state: &mut Option<LionState>,
    ) -> Result<Tensor> {
        update_copy(step, self, value, grad, state)
    }

    fn update_in_place() -> Option<UpdateInPlace<Self>> {
        Some(UpdateInPlace(step))
    }
}

fn step(
    options: &LionConfig,
    value: &mut Tensor,
    grad: &Tensor,
    state: &mut Option<LionState>,
) -> Result<()> {
    let state = or_first(state, value)?;
    update_elements([value, &mut state.exp_avg], [grad], Step { options })
}

/// The parameter and its momentum.
#[derive(Clone, Copy)]
struct Step<'a> {
    options: &'a LionConfig,
}

impl UpdateFormula<2, 1> for Step<'_> {
    #[inline]
    fn apply<T: Real>(self, [p, m]: [T; 2], [g]: [T; 1]) -> [T; 2] {
        let LionConfig {
            lr,
            betas,
            weight_decay,
            maximize,
        } = *self.options;
        let g = decay_gradient(g, p, 0.0, maximize);
        let direction = (m * betas.0).add_scaled(g, 1.0 - betas.0);
        let p = decay_value(p, lr, weight_decay);
        let m = (m * betas.1).add_scaled(g, 1.0 - betas.1);
        [p.add_scaled(direction.sign(), -lr), m]
    }
}
