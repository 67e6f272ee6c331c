use module_core::fused::{Real, UpdateFormula, update_elements};
use module_core::{Module, Result, Tensor};

use super::arithmetic::decay_gradient;
use super::range::at_least_0;
use super::rule::{UpdateInPlace, update_copy};
use super::state_fields::{FirstState, or_insert_with, param_state};
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
/// The average `a` is `ax` in the state; until step `t₀` it equals the parameter.
///
/// Source: `torch.optim.ASGD`; Polyak and Juditsky, *Acceleration of stochastic approximation by averaging* (1992).
///
/// # Example
///
/// ```
/// use module_nn::optim::{ASGDState, ParamState};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = ASGD::new(&model, 1e-2)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// let state: &ASGDState = optimizer.states().get("weight").unwrap();
/// let slots: Vec<&str> = state.slots()?.into_iter().map(|(name, _)| name).collect();
/// assert_eq!(slots, ["ax", "step", "eta", "mu"]);
/// # Ok::<(), Error>(())
/// ```
pub type ASGD = RuleOptimizer<ASGDConfig>;

config! {
    /// The arguments of [`ASGD`].
    ///
    /// It is an error to build an optimizer with a negative rate, decay or power.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::Tolerance;
    /// use module_nn::prelude::*;
    ///
    /// let model = [Parameter::new(Tensor::from([1.0_f32, -2.0]))?];
    /// let config = ASGDConfig::new(0.1)
    ///     .lambd(0.5)
    ///     .alpha(0.5)
    ///     .t0(1.0)
    ///     .weight_decay(0.1)
    ///     .maximize(true);
    /// let mut optimizer = config.build(&model)?;
    /// for _ in 0..2 {
    ///     model.zero_grad();
    ///     let gain = model[0].tensor().square()?.neg()?.sum(..)?;
    ///     gain.backward()?;
    ///     optimizer.step(&model)?;
    /// }
    /// let expected = Tensor::from([0.5522_f32, -1.1045]); // PyTorch's
    /// assert!(model[0].detach().allclose(&expected, Tolerance::new().atol(1e-4))?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct ASGDConfig {
        required {
            /// The learning rate; PyTorch's is 1e-2 if none is given.
            lr: f64,
        }
        optional {
            /// The decay of the parameter, multiplied by the step size.
            lambd: f64 = 1e-4,
            /// The exponent of the step size's decay.
            alpha: f64 = 0.75,
            /// The step at which averaging begins.
            t0: f64 = 1e6,
            /// The weight decay, added to the gradient.
            weight_decay: f64 = 0.0,
            /// Whether to maximize instead of minimize.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// The state of [`ASGD`] for one parameter: the number of its steps, their sizes and the average.
    pub struct ASGDState {
        /// The average of the parameter.
        ax: Tensor,
        /// The number of steps.
        step: u64,
        /// The size of the next step.
        eta: f32,
        /// The weight of the next value in the average.
        mu: f32,
    }
}

impl ASGD {
    /// Makes the optimizer with PyTorch's defaults for the other options.
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
        update_copy(step, self, value, grad, state)
    }

    fn update_in_place() -> Option<UpdateInPlace<Self>> {
        Some(UpdateInPlace(step))
    }
}

fn step(
    options: &ASGDConfig,
    value: &mut Tensor,
    grad: &Tensor,
    state: &mut Option<ASGDState>,
) -> Result<()> {
    let state = or_insert_with(state, || {
        Ok(ASGDState {
            // PyTorch keeps both in single precision.
            eta: options.lr as f32,
            mu: 1.0,
            ..ASGDState::first(value)?
        })
    })?;
    let step = state.step.saturating_add(1);
    let (eta, mu) = (f64::from(state.eta), f64::from(state.mu));
    update_elements([value, &mut state.ax], [grad], Step { options, eta, mu })?;
    let t = step as f64;
    let slowed = (1.0 + options.lambd * options.lr * t).powf(options.alpha);
    state.step = step;
    state.eta = (options.lr / slowed) as f32;
    state.mu = (1.0 / (t - options.t0).max(1.0)) as f32;
    Ok(())
}

/// The parameter and its average.
#[derive(Clone, Copy)]
struct Step<'a> {
    options: &'a ASGDConfig,
    eta: f64,
    mu: f64,
}

impl UpdateFormula<2, 1> for Step<'_> {
    #[inline]
    fn apply<T: Real>(self, [p, ax]: [T; 2], [g]: [T; 1]) -> [T; 2] {
        let ASGDConfig {
            lambd,
            weight_decay,
            maximize,
            ..
        } = *self.options;
        let g = decay_gradient(g, p, weight_decay, maximize);
        let p = (p * (1.0 - lambd * self.eta)).add_scaled(g, -self.eta);
        match self.mu == 1.0 {
            true => [p, p],
            false => [p, ax.add_scaled(p - ax, self.mu)],
        }
    }
}
