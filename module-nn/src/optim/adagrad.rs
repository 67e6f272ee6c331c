use module_core::fused::{Real, UpdateFormula, update_elements};
use module_core::{Module, Result, Tensor};

use super::arithmetic::decay_gradient;
use super::range::at_least_0;
use super::rule::{UpdateInPlace, update_copy};
use super::state_fields::{or_insert_with, param_state};
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// Steps by the gradient over the root of the sum of all its squares so far.
///
/// With gradient `g`, parameter `p`, learning rate `γ` and step `t`:
///
/// ```text
/// g ← g + λ·p                                  weight decay λ
/// s ← s + g²                                   s ← τ at first, the initial accumulator value
/// p ← p - γ/(1 + (t - 1)·η) · g/(√s + ε)       learning rate decay η
/// ```
///
/// Source: `torch.optim.Adagrad`; Duchi, Hazan and Singer, *Adaptive Subgradient Methods for Online Learning and Stochastic Optimization* (2011).
///
/// # Example
///
/// ```
/// use module_nn::optim::{AdagradState, ParamState};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = Adagrad::new(&model, 1e-2)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// let state: &AdagradState = optimizer.states().get("weight").unwrap();
/// let slots: Vec<&str> = state.slots()?.into_iter().map(|(name, _)| name).collect();
/// assert_eq!(slots, ["sum", "step"]);
/// # Ok::<(), Error>(())
/// ```
pub type Adagrad = RuleOptimizer<AdagradConfig>;

config! {
    /// The arguments of [`Adagrad`].
    ///
    /// It is an error to build an optimizer with a negative option.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::Tolerance;
    /// use module_nn::prelude::*;
    ///
    /// let model = [Parameter::new(Tensor::from([1.0_f32, -2.0]))?];
    /// let config = AdagradConfig::new(0.5)
    ///     .lr_decay(0.1)
    ///     .initial_accumulator_value(1.0)
    ///     .eps(1e-8)
    ///     .weight_decay(0.1)
    ///     .maximize(true);
    /// let mut optimizer = config.build(&model)?;
    /// for _ in 0..2 {
    ///     model.zero_grad();
    ///     let gain = model[0].tensor().square()?.neg()?.sum(..)?;
    ///     gain.backward()?;
    ///     optimizer.step(&model)?;
    /// }
    /// let expected = Tensor::from([0.3468_f32, -1.2441]); // PyTorch's
    /// assert!(model[0].detach().allclose(&expected, Tolerance::new().atol(1e-4))?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct AdagradConfig {
        required {
            /// The learning rate; PyTorch's is 1e-2 if none is given.
            lr: f64,
        }
        optional {
            /// The decay of the learning rate.
            lr_decay: f64 = 0.0,
            /// The weight decay, added to the gradient.
            weight_decay: f64 = 0.0,
            /// The initial sum of squares.
            initial_accumulator_value: f64 = 0.0,
            /// Added to the root of the sum.
            eps: f64 = 1e-10,
            /// Whether to maximize instead of minimize.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// The state of [`Adagrad`] for one parameter: the number of its steps and the sum of the squares of its gradients.
    pub struct AdagradState {
        /// The sum of squares.
        sum: Tensor,
        /// The number of steps.
        step: u64,
    }
}

impl Adagrad {
    /// Makes the optimizer with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        AdagradConfig::new(lr).build(model)
    }
}

impl UpdateRule for AdagradConfig {
    const NAME: &'static str = "Adagrad";
    type State = AdagradState;

    fn check(&self) -> Result<()> {
        at_least_0(Self::NAME, "lr", self.lr)?;
        at_least_0(Self::NAME, "lr_decay", self.lr_decay)?;
        at_least_0(Self::NAME, "weight_decay", self.weight_decay)?;
        at_least_0(
            Self::NAME,
            "initial_accumulator_value",
            self.initial_accumulator_value,
        )?;
        at_least_0(Self::NAME, "eps", self.eps)
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
        state: &mut Option<AdagradState>,
    ) -> Result<Tensor> {
        update_copy(step, self, value, grad, state)
    }

    fn update_in_place() -> Option<UpdateInPlace<Self>> {
        Some(UpdateInPlace(step))
    }
}

fn step(
    options: &AdagradConfig,
    value: &mut Tensor,
    grad: &Tensor,
    state: &mut Option<AdagradState>,
) -> Result<()> {
    let state = or_insert_with(state, || {
        Ok(AdagradState {
            sum: value.zeros_like()?.add(options.initial_accumulator_value)?,
            step: 0,
        })
    })?;
    let rate = options.lr / (1.0 + state.step as f64 * options.lr_decay);
    update_elements([value, &mut state.sum], [grad], Step { options, rate })?;
    state.step = state.step.saturating_add(1);
    Ok(())
}

/// The parameter and the sum of its squared gradients.
#[derive(Clone, Copy)]
struct Step<'a> {
    options: &'a AdagradConfig,
    rate: f64,
}

impl UpdateFormula<2, 1> for Step<'_> {
    #[inline]
    fn apply<T: Real>(self, [p, sum]: [T; 2], [g]: [T; 1]) -> [T; 2] {
        let g = decay_gradient(g, p, self.options.weight_decay, self.options.maximize);
        let sum = sum.add_product(1.0, g, g);
        let root = sum.sqrt() + self.options.eps;
        [p.add_quotient(-self.rate, g, root), sum]
    }
}
