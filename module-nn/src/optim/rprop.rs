use module_core::fused::{Real, UpdateFormula, update_elements};
use module_core::{Error, Module, Result, Tensor};

use super::arithmetic::decay_gradient;
use super::range::at_least_0;
use super::rule::{UpdateInPlace, update_copy};
use super::state_fields::{or_insert_with, param_state};
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// Steps by the sign of the gradient, with sizes that grow while the sign stays the same and shrink when it changes. It is
/// meant for full-batch gradients.
///
/// With gradient `g`, parameter `p`, learning rate `γ` and step `t`:
///
/// ```text
/// f = η⁺ if g·g₋ > 0, η⁻ if g·g₋ < 0, 1 otherwise      g₋ the gradient before
/// s ← min(max(f·s, Γmin), Γmax)                        s ← γ at first
/// g ← 0 if g·g₋ < 0
/// p ← p - s·sign(g)
/// ```
///
/// Source: `torch.optim.Rprop`; Riedmiller and Braun, *A direct adaptive method for faster backpropagation learning: the RPROP algorithm* (1993).
///
/// # Example
///
/// ```
/// use module_nn::optim::{ParamState, RpropState};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = Rprop::new(&model, 1e-2)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// let state: &RpropState = optimizer.states().get("weight").unwrap();
/// let slots: Vec<&str> = state.slots()?.into_iter().map(|(name, _)| name).collect();
/// assert_eq!(slots, ["prev", "step_size", "step"]);
/// # Ok::<(), Error>(())
/// ```
pub type Rprop = RuleOptimizer<RpropConfig>;

config! {
    /// The arguments of [`Rprop`].
    ///
    /// It is an error to build an optimizer with a negative rate, or etas that are not on both sides of 1.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::Tolerance;
    /// use module_nn::prelude::*;
    ///
    /// let model = [Parameter::new(Tensor::from([1.0_f32, -2.0]))?];
    /// let config = RpropConfig::new(0.5)
    ///     .etas((0.5, 1.5))
    ///     .step_sizes((0.1, 0.6))
    ///     .maximize(true);
    /// let mut optimizer = config.build(&model)?;
    /// for _ in 0..3 {
    ///     model.zero_grad();
    ///     let gain = model[0].tensor().square()?.neg()?.sum(..)?;
    ///     gain.backward()?;
    ///     optimizer.step(&model)?;
    /// }
    /// let expected = Tensor::from([-0.1000_f32, -0.3000]); // PyTorch's
    /// assert!(model[0].detach().allclose(&expected, Tolerance::new().atol(1e-4))?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct RpropConfig {
        required {
            /// The learning rate; PyTorch's is 1e-2 if none is given.
            lr: f64,
        }
        optional {
            /// The factors by which a step shrinks and grows.
            etas: (f64, f64) = (0.5, 1.2),
            /// The smallest and the largest step.
            step_sizes: (f64, f64) = (1e-6, 50.0),
            /// Whether to maximize instead of minimize.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// The state of [`Rprop`] for one parameter: the number of its steps, the last gradient and the sizes of the steps.
    pub struct RpropState {
        /// The last gradient.
        prev: Tensor,
        /// The size of the step of each element.
        step_size: Tensor,
        /// The number of steps.
        step: u64,
    }
}

impl Rprop {
    /// Makes the optimizer with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        RpropConfig::new(lr).build(model)
    }
}

impl UpdateRule for RpropConfig {
    const NAME: &'static str = "Rprop";
    type State = RpropState;

    fn check(&self) -> Result<()> {
        at_least_0(Self::NAME, "lr", self.lr)?;
        let (minus, plus) = self.etas;
        if 0.0 < minus && minus < 1.0 && 1.0 < plus {
            return Ok(());
        }
        let problem = "must be one factor between 0 and 1 and one above 1";
        let etas = format!("({minus}, {plus})");
        Err(Error::argument(
            Self::NAME,
            "etas",
            etas,
            problem.to_owned(),
        ))
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
        state: &mut Option<RpropState>,
    ) -> Result<Tensor> {
        update_copy(step, self, value, grad, state)
    }

    fn update_in_place() -> Option<UpdateInPlace<Self>> {
        Some(UpdateInPlace(step))
    }
}

fn step(
    options: &RpropConfig,
    value: &mut Tensor,
    grad: &Tensor,
    state: &mut Option<RpropState>,
) -> Result<()> {
    let state = or_insert_with(state, || {
        let zeros = value.zeros_like()?;
        Ok(RpropState {
            step_size: zeros.add(options.lr)?,
            prev: zeros,
            step: 0,
        })
    })?;
    let written = [value, &mut state.prev, &mut state.step_size];
    update_elements(written, [grad], Step { options })?;
    state.step = state.step.saturating_add(1);
    Ok(())
}

/// The parameter, its last gradient and the size of its step.
#[derive(Clone, Copy)]
struct Step<'a> {
    options: &'a RpropConfig,
}

impl UpdateFormula<3, 1> for Step<'_> {
    #[inline]
    fn apply<T: Real>(self, [p, prev, size]: [T; 3], [g]: [T; 1]) -> [T; 3] {
        let RpropConfig {
            etas,
            step_sizes,
            maximize,
            ..
        } = *self.options;
        let g = decay_gradient(g, p, 0.0, maximize);
        let (same, turned) = (g * prev, -(g * prev));
        let grown = same.where_positive(size * etas.1, size);
        let size = turned.where_positive(size * etas.0, grown);
        let size = size.clamp(step_sizes.0, step_sizes.1);
        let prev = turned.where_positive(turned.clamp(0.0, 0.0), g);
        [p.add_product(-1.0, prev.sign(), size), prev, size]
    }
}
