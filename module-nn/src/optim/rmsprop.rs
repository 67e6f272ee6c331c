use module_core::{Module, Result, Tensor};

use super::arithmetic::{add_product, add_quotient, average_square, decay_gradient, lerp};
use super::range::at_least_0;
use super::state_fields::param_state;
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
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = RMSprop::new(&model, 1e-2)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// # Ok::<(), Error>(())
/// ```
pub type RMSprop = RuleOptimizer<RMSpropConfig>;

config! {
    /// The arguments of [`RMSprop`].
    ///
    /// No optimizer is built with a negative option.
    pub struct RMSpropConfig {
        required {
            /// The learning rate; PyTorch's is 1e-2 if none is given.
            lr: f64,
        }
        optional {
            /// How much of the averages is kept.
            alpha: f64 = 0.99,
            /// What is added to the root.
            eps: f64 = 1e-8,
            /// How much of the parameter is added to its gradient.
            weight_decay: f64 = 0.0,
            /// How much of the last step is kept.
            momentum: f64 = 0.0,
            /// Whether the square is that of the difference from the average gradient.
            centered: bool = false,
            /// Whether to climb instead of to descend.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// What [`RMSprop`] keeps of one parameter: the number of its steps, the averages of its gradients and their squares, and the momentum.
    pub struct RMSpropState {
        /// The average of the squares of the gradients.
        square_avg: Tensor,
        /// The momentum.
        momentum_buffer: Option<Tensor>,
        /// The average of the gradients, of the centered form.
        grad_avg: Option<Tensor>,
        /// The number of steps.
        step: u64,
    }
}

impl RMSprop {
    /// With PyTorch's defaults for the rest.
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
        let last = match state {
            Some(state) => state.clone(),
            None => RMSpropState {
                square_avg: value.zeros_like()?,
                momentum_buffer: None,
                grad_avg: None,
                step: 0,
            },
        };
        let grad = decay_gradient(grad, value, self.weight_decay, self.maximize)?;
        let mut next = RMSpropState {
            square_avg: average_square(&last.square_avg, &grad, self.alpha)?,
            momentum_buffer: None,
            grad_avg: None,
            step: last.step.saturating_add(1),
        };
        let or_zeros = |x: &Option<Tensor>| match x {
            Some(x) => Ok(x.clone()),
            None => value.zeros_like(),
        };
        let square = match self.centered {
            true => {
                let average = lerp(&or_zeros(&last.grad_avg)?, &grad, 1.0 - self.alpha)?;
                let square = add_product(&next.square_avg, -1.0, &average, &average)?;
                next.grad_avg = Some(average);
                square
            }
            false => next.square_avg.clone(),
        };
        let root = square.sqrt()?.add(self.eps)?;
        let value = match self.momentum > 0.0 {
            true => {
                let kept = or_zeros(&last.momentum_buffer)?.mul(self.momentum)?;
                let buffer = add_quotient(&kept, 1.0, &grad, &root)?;
                let value = value.add_scaled(&buffer, -self.lr)?;
                next.momentum_buffer = Some(buffer);
                value
            }
            false => add_quotient(value, -self.lr, &grad, &root)?,
        };
        *state = Some(next);
        Ok(value)
    }
}
