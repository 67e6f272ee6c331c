use module_core::fused::{Real, UpdateFormula, update_elements};
use module_core::{Module, Result, Tensor};

use super::adam_step::check_adam;
use super::arithmetic::{EitherDecay, average_square, decay_either, power};
use super::rule::{UpdateInPlace, update_copy};
use super::state_fields::{or_first, param_state};
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// [`Adam`](super::Adam) with rectified first steps, for which the second moment is still uncertain.
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
/// use module_nn::optim::{ParamState, RAdamState};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = RAdam::new(&model, 1e-3)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// let state: &RAdamState = optimizer.states().get("weight").unwrap();
/// let slots: Vec<&str> = state.slots()?.into_iter().map(|(name, _)| name).collect();
/// assert_eq!(slots, ["exp_avg", "exp_avg_sq", "step"]);
/// # Ok::<(), Error>(())
/// ```
pub type RAdam = RuleOptimizer<RAdamConfig>;

config! {
    /// The arguments of [`RAdam`].
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
    /// let config = RAdamConfig::new(0.1)
    ///     .betas((0.8, 0.99))
    ///     .eps(1e-6)
    ///     .weight_decay(0.1)
    ///     .decoupled_weight_decay(true)
    ///     .maximize(true);
    /// let mut optimizer = config.build(&model)?;
    /// for _ in 0..2 {
    ///     model.zero_grad();
    ///     let gain = model[0].tensor().square()?.neg()?.sum(..)?;
    ///     gain.backward()?;
    ///     optimizer.step(&model)?;
    /// }
    /// let expected = Tensor::from([0.6054_f32, -1.2109]); // PyTorch's
    /// assert!(model[0].detach().allclose(&expected, Tolerance::new().atol(1e-4))?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct RAdamConfig {
        required {
            /// The learning rate; PyTorch's is 1e-3 if none is given.
            lr: f64,
        }
        optional {
            /// The decay rates of the first and second moment.
            betas: (f64, f64) = (0.9, 0.999),
            /// Added to the root of the second moment.
            eps: f64 = 1e-8,
            /// The weight decay, of the kind that `decoupled_weight_decay` chooses.
            weight_decay: f64 = 0.0,
            /// Whether the weight decay is decoupled and multiplied by the learning rate, instead of added to the gradient.
            decoupled_weight_decay: bool = false,
            /// Whether to maximize instead of minimize.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// The state of [`RAdam`] for one parameter: the number of its steps and the moments of its gradients.
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
    /// Makes the optimizer with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        RAdamConfig::new(lr).build(model)
    }
}

impl RAdamConfig {
    fn decay(&self) -> EitherDecay {
        EitherDecay {
            lr: self.lr,
            weight_decay: self.weight_decay,
            decoupled: self.decoupled_weight_decay,
            maximize: self.maximize,
        }
    }
}

impl UpdateRule for RAdamConfig {
    const NAME: &'static str = "RAdam";
    type State = RAdamState;

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
        state: &mut Option<RAdamState>,
    ) -> Result<Tensor> {
        update_copy(step, self, value, grad, state)
    }

    fn update_in_place() -> Option<UpdateInPlace<Self>> {
        Some(UpdateInPlace(step))
    }
}

fn step(
    options: &RAdamConfig,
    value: &mut Tensor,
    grad: &Tensor,
    state: &mut Option<RAdamState>,
) -> Result<()> {
    let state = or_first(state, value)?;
    let step = state.step.saturating_add(1);
    let (beta1, beta2) = options.betas;
    let correction2 = 1.0 - power(beta2, step);
    let rho_inf = 2.0 / (1.0 - beta2) - 1.0;
    let rho = rho_inf - 2.0 * step as f64 * power(beta2, step) / correction2;
    let rest = (rho_inf - 4.0) * (rho_inf - 2.0) * rho;
    let formula = Step {
        options,
        correction1: 1.0 - power(beta1, step),
        root_correction2: correction2.sqrt(),
        rho,
        rectified: ((rho - 4.0) * (rho - 2.0) * rho_inf / rest).sqrt(),
    };
    let written = [value, &mut state.exp_avg, &mut state.exp_avg_sq];
    update_elements(written, [grad], formula)?;
    state.step = step;
    Ok(())
}

/// The parameter and its moments.
#[derive(Clone, Copy)]
struct Step<'a> {
    options: &'a RAdamConfig,
    correction1: f64,
    root_correction2: f64,
    rho: f64,
    rectified: f64,
}

impl UpdateFormula<3, 1> for Step<'_> {
    #[inline]
    fn apply<T: Real>(self, [p, m, v]: [T; 3], [g]: [T; 1]) -> [T; 3] {
        let RAdamConfig { lr, betas, .. } = *self.options;
        let (p, g) = decay_either(p, g, self.options.decay());
        let m = m.lerp(g, 1.0 - betas.0);
        let v = average_square(v, g, betas.1);
        let moved = m / self.correction1 * lr;
        if self.rho <= 5.0 {
            return [p - moved, m, v];
        }
        let rate = (v.sqrt() + self.options.eps).recip() * self.root_correction2;
        [p - moved * rate * self.rectified, m, v]
    }
}
