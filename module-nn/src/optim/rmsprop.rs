use module_core::fused::{Real, UpdateFormula, update_elements};
use module_core::{Module, Result, Tensor};

use super::arithmetic::{average_square, decay_gradient};
use super::range::at_least_0;
use super::rule::{UpdateInPlace, update_copy};
use super::state_fields::{keep_if, or_first, param_state};
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// Steps by the gradient over the root of the average of its squares.
///
/// With gradient `g`, parameter `p`, learning rate `γ` and step `t`:
///
/// ```text
/// g ← g + λ·p                                  weight decay λ
/// v ← α·v + (1 - α)·g²
/// a ← α·a + (1 - α)·g      r = √(v - a²) + ε   if centered
///                          r = √v + ε          otherwise
/// b ← μ·b + g/r                                momentum μ
/// p ← p - γ·b
/// ```
///
/// Source: `torch.optim.RMSprop`; Hinton, *Neural Networks for Machine Learning*, lecture 6 (2012); Graves, *Generating Sequences With Recurrent Neural Networks* (2013), for the centered form.
///
/// # Example
///
/// ```
/// use module_nn::optim::{ParamState, RMSpropState};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = RMSprop::new(&model, 1e-2)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// let state: &RMSpropState = optimizer.states().get("weight").unwrap();
/// let slots: Vec<&str> = state.slots()?.into_iter().map(|(name, _)| name).collect();
/// assert_eq!(slots, ["square_avg", "step"]);
/// # Ok::<(), Error>(())
/// ```
pub type RMSprop = RuleOptimizer<RMSpropConfig>;

config! {
    /// The arguments of [`RMSprop`].
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
    /// let config = RMSpropConfig::new(0.1)
    ///     .alpha(0.5)
    ///     .eps(1e-6)
    ///     .weight_decay(0.1)
    ///     .momentum(0.9)
    ///     .centered(true)
    ///     .maximize(true);
    /// let mut optimizer = config.build(&model)?;
    /// for _ in 0..2 {
    ///     model.zero_grad();
    ///     let gain = model[0].tensor().square()?.neg()?.sum(..)?;
    ///     gain.backward()?;
    ///     optimizer.step(&model)?;
    /// }
    /// let expected = Tensor::from([0.4117_f32, -1.3984]); // PyTorch's
    /// assert!(model[0].detach().allclose(&expected, Tolerance::new().atol(1e-4))?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct RMSpropConfig {
        required {
            /// The learning rate; PyTorch's is 1e-2 if none is given.
            lr: f64,
        }
        optional {
            /// The decay rate of the averages.
            alpha: f64 = 0.99,
            /// Added to the root.
            eps: f64 = 1e-8,
            /// The weight decay, added to the gradient.
            weight_decay: f64 = 0.0,
            /// The momentum factor.
            momentum: f64 = 0.0,
            /// Whether to subtract the average gradient (the centered form).
            centered: bool = false,
            /// Whether to maximize instead of minimize.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// The state of [`RMSprop`] for one parameter: the number of its steps, the averages of its gradients and their
    /// squares, and the momentum.
    pub struct RMSpropState {
        /// The average of the squares of the gradients.
        square_avg: Tensor,
        /// The momentum.
        momentum_buffer: Option<Tensor>,
        /// The average of the gradients, for the centered form.
        grad_avg: Option<Tensor>,
        /// The number of steps.
        step: u64,
    }
}

impl RMSprop {
    /// Makes the optimizer with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        RMSpropConfig::new(lr).build(model)
    }
}

impl UpdateRule for RMSpropConfig {
    const NAME: &'static str = "RMSprop";
    type State = RMSpropState;

    fn check(&self) -> Result<()> {
        at_least_0(Self::NAME, "lr", self.lr)?;
        at_least_0(Self::NAME, "eps", self.eps)?;
        at_least_0(Self::NAME, "momentum", self.momentum)?;
        at_least_0(Self::NAME, "weight_decay", self.weight_decay)?;
        at_least_0(Self::NAME, "alpha", self.alpha)
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    fn set_lr(&mut self, lr: f64) {
        self.lr = lr;
    }

    fn momentum(&self) -> Option<f64> {
        Some(self.momentum)
    }

    fn set_momentum(&mut self, momentum: f64) {
        self.momentum = momentum;
    }

    fn update(
        &self,
        value: &Tensor,
        grad: &Tensor,
        state: &mut Option<RMSpropState>,
    ) -> Result<Tensor> {
        update_copy(step, self, value, grad, state)
    }

    fn update_in_place() -> Option<UpdateInPlace<Self>> {
        Some(UpdateInPlace(step))
    }
}

fn step(
    options: &RMSpropConfig,
    value: &mut Tensor,
    grad: &Tensor,
    state: &mut Option<RMSpropState>,
) -> Result<()> {
    let state = or_first(state, value)?;
    // States that an option does not need are not kept.
    let average = keep_if(&mut state.grad_avg, options.centered, value)?;
    let momentum = keep_if(&mut state.momentum_buffer, options.momentum > 0.0, value)?;
    let (square, formula) = (&mut state.square_avg, Step { options });
    match (average, momentum) {
        (None, None) => update_elements([value, square], [grad], Plain(formula)),
        (None, Some(b)) => update_elements([value, square, b], [grad], WithMomentum(formula)),
        (Some(a), None) => update_elements([value, square, a], [grad], Centered(formula)),
        (Some(a), Some(b)) => update_elements([value, square, a, b], [grad], formula),
    }?;
    state.step = state.step.saturating_add(1);
    Ok(())
}

/// The parameter, the averages of its squared gradients and of its gradients, and its momentum.
#[derive(Clone, Copy)]
struct Step<'a> {
    options: &'a RMSpropConfig,
}

impl UpdateFormula<4, 1> for Step<'_> {
    #[inline]
    fn apply<T: Real>(self, [p, v, a, b]: [T; 4], [g]: [T; 1]) -> [T; 4] {
        let (g, v) = self.square(p, v, g);
        let (a, root) = self.center(v, a, g);
        let (p, b) = self.move_along(p, b, g, root);
        [p, v, a, b]
    }
}

impl Step<'_> {
    /// The gradient with weight decay, and the next average of squares.
    #[inline]
    fn square<T: Real>(self, p: T, v: T, g: T) -> (T, T) {
        let g = decay_gradient(g, p, self.options.weight_decay, self.options.maximize);
        (g, average_square(v, g, self.options.alpha))
    }

    #[inline]
    fn root<T: Real>(self, square: T) -> T {
        square.sqrt() + self.options.eps
    }

    /// The next average of gradients, and the root of the centered average of squares.
    #[inline]
    fn center<T: Real>(self, v: T, a: T, g: T) -> (T, T) {
        let a = a.lerp(g, 1.0 - self.options.alpha);
        (a, self.root(v.add_product(-1.0, a, a)))
    }

    /// The parameter and the momentum after a momentum step.
    #[inline]
    fn move_along<T: Real>(self, p: T, b: T, g: T, root: T) -> (T, T) {
        let b = (b * self.options.momentum).add_quotient(1.0, g, root);
        (p.add_scaled(b, -self.options.lr), b)
    }
}

#[derive(Clone, Copy)]
struct Plain<'a>(Step<'a>);

impl UpdateFormula<2, 1> for Plain<'_> {
    #[inline]
    fn apply<T: Real>(self, [p, v]: [T; 2], [g]: [T; 1]) -> [T; 2] {
        let (g, v) = self.0.square(p, v, g);
        [p.add_quotient(-self.0.options.lr, g, self.0.root(v)), v]
    }
}

#[derive(Clone, Copy)]
struct WithMomentum<'a>(Step<'a>);

impl UpdateFormula<3, 1> for WithMomentum<'_> {
    #[inline]
    fn apply<T: Real>(self, [p, v, b]: [T; 3], [g]: [T; 1]) -> [T; 3] {
        let (g, v) = self.0.square(p, v, g);
        let (p, b) = self.0.move_along(p, b, g, self.0.root(v));
        [p, v, b]
    }
}

#[derive(Clone, Copy)]
struct Centered<'a>(Step<'a>);

impl UpdateFormula<3, 1> for Centered<'_> {
    #[inline]
    fn apply<T: Real>(self, [p, v, a]: [T; 3], [g]: [T; 1]) -> [T; 3] {
        let (g, v) = self.0.square(p, v, g);
        let (a, root) = self.0.center(v, a, g);
        [p.add_quotient(-self.0.options.lr, g, root), v, a]
    }
}
