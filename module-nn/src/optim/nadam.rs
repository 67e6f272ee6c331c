use module_core::fused::{Real, UpdateFormula, update_elements};
use module_core::{Module, Result, Tensor};

use super::adam_step::check_adam;
use super::arithmetic::{EitherDecay, average_square, decay_either, power};
use super::range::at_least_0;
use super::rule::{UpdateInPlace, update_copy};
use super::state_fields::{FirstState, or_insert_with, param_state};
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// [`Adam`](super::Adam) with Nesterov momentum.
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
/// use module_nn::optim::{NAdamState, ParamState};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = NAdam::new(&model, 2e-3)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// let state: &NAdamState = optimizer.states().get("weight").unwrap();
/// let slots: Vec<&str> = state.slots()?.into_iter().map(|(name, _)| name).collect();
/// assert_eq!(slots, ["exp_avg", "exp_avg_sq", "step", "mu_product"]);
/// # Ok::<(), Error>(())
/// ```
pub type NAdam = RuleOptimizer<NAdamConfig>;

config! {
    /// The arguments of [`NAdam`].
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
    /// let config = NAdamConfig::new(0.1)
    ///     .betas((0.8, 0.99))
    ///     .eps(1e-6)
    ///     .momentum_decay(0.01)
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
    /// let expected = Tensor::from([0.7896_f32, -1.7674]); // PyTorch's
    /// assert!(model[0].detach().allclose(&expected, Tolerance::new().atol(1e-4))?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct NAdamConfig {
        required {
            /// The learning rate; PyTorch's is 2e-3 if none is given.
            lr: f64,
        }
        optional {
            /// The decay rates of the first and second moment.
            betas: (f64, f64) = (0.9, 0.999),
            /// Added to the root of the second moment.
            eps: f64 = 1e-8,
            /// The weight decay, of the kind that `decoupled_weight_decay` chooses.
            weight_decay: f64 = 0.0,
            /// How fast the momentum grows toward `betas.0`.
            momentum_decay: f64 = 4e-3,
            /// Whether the weight decay is decoupled and multiplied by the learning rate, instead of added to the gradient.
            decoupled_weight_decay: bool = false,
            /// Whether to maximize instead of minimize.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// The state of [`NAdam`] for one parameter: the number of its steps, the product of its momenta and the moments of its
    /// gradients.
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
    /// Makes the optimizer with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        NAdamConfig::new(lr).build(model)
    }
}

impl NAdamConfig {
    fn decay(&self) -> EitherDecay {
        EitherDecay {
            lr: self.lr,
            weight_decay: self.weight_decay,
            decoupled: self.decoupled_weight_decay,
            maximize: self.maximize,
        }
    }
}

impl UpdateRule for NAdamConfig {
    const NAME: &'static str = "NAdam";
    type State = NAdamState;

    fn check(&self) -> Result<()> {
        check_adam(Self::NAME, self.lr, self.betas, self.eps, self.weight_decay)?;
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
        update_copy(step, self, value, grad, state)
    }

    fn update_in_place() -> Option<UpdateInPlace<Self>> {
        Some(UpdateInPlace(step))
    }
}

fn step(
    options: &NAdamConfig,
    value: &mut Tensor,
    grad: &Tensor,
    state: &mut Option<NAdamState>,
) -> Result<()> {
    let state = or_insert_with(state, || {
        Ok(NAdamState {
            mu_product: 1.0,
            ..NAdamState::first(value)?
        })
    })?;
    let step = state.step.saturating_add(1);
    let mu = |step: u64| {
        let decay = 0.96_f64.powf(step as f64 * options.momentum_decay);
        options.betas.0 * (1.0 - 0.5 * decay)
    };
    let (now, next) = (mu(step), mu(step.saturating_add(1)));
    // PyTorch keeps the product in single precision.
    let mu_product = state.mu_product * now as f32;
    let product = f64::from(mu_product);
    let formula = Step {
        options,
        correction2: 1.0 - power(options.betas.1, step),
        by_gradient: -options.lr * (1.0 - now) / (1.0 - product),
        by_moment: (-options.lr * next) / (1.0 - product * next),
    };
    let written = [value, &mut state.exp_avg, &mut state.exp_avg_sq];
    update_elements(written, [grad], formula)?;
    (state.step, state.mu_product) = (step, mu_product);
    Ok(())
}

/// The parameter and its moments.
#[derive(Clone, Copy)]
struct Step<'a> {
    options: &'a NAdamConfig,
    correction2: f64,
    by_gradient: f64,
    by_moment: f64,
}

impl UpdateFormula<3, 1> for Step<'_> {
    #[inline]
    fn apply<T: Real>(self, [p, m, v]: [T; 3], [g]: [T; 1]) -> [T; 3] {
        let betas = self.options.betas;
        let (p, g) = decay_either(p, g, self.options.decay());
        let m = m.lerp(g, 1.0 - betas.0);
        let v = average_square(v, g, betas.1);
        let root = (v / self.correction2).sqrt() + self.options.eps;
        let p = p.add_quotient(self.by_gradient, g, root);
        [p.add_quotient(self.by_moment, m, root), m, v]
    }
}
