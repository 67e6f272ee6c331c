use module_core::fused::{Real, UpdateFormula, update_elements};
use module_core::{Error, Module, Result, Tensor};

use super::arithmetic::decay_gradient;
use super::range::at_least_0;
use super::rule::{UpdateInPlace, update_copy};
use super::state_fields::keep_if;
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// Stochastic gradient descent, with optional momentum and weight decay.
///
/// With gradient `g`, parameter `p` and learning rate `γ`:
///
/// ```text
/// g ← g + λ·p                      weight decay λ
/// b ← μ·b + (1 - τ)·g              momentum μ, dampening τ; b ← g at first
/// g ← g + μ·b  (Nesterov) or b
/// p ← p - γ·g
/// ```
///
/// Source: `torch.optim.SGD`; Sutskever et al., *On the importance of initialization and momentum
/// in deep learning* (2013).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Linear::new(1, 1)?;
/// let mut optimizer = SGD::new(&model, 0.1)?;
/// model.call(Tensor::from([[1.0_f32]]))?.sum(..)?.backward()?;
/// let before = model.weight().tensor().item::<f32>()?;
/// optimizer.step(&model)?;
/// assert_eq!(model.weight().tensor().item::<f32>()?, before - 0.1);
/// # Ok::<(), Error>(())
/// ```
pub type SGD = RuleOptimizer<SGDConfig>;

config! {
    /// The arguments of [`SGD`].
    ///
    /// It is an error to build an optimizer with a negative rate, momentum or decay, or with Nesterov momentum without
    /// momentum or with dampening.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::Tolerance;
    /// use module_nn::prelude::*;
    ///
    /// let model = [Parameter::new(Tensor::from([1.0_f32, -2.0]))?];
    /// let config = SGDConfig::new(0.1)
    ///     .momentum(0.9)
    ///     .dampening(0.5)
    ///     .weight_decay(0.1)
    ///     .maximize(true);
    /// let mut optimizer = config.build(&model)?;
    /// for _ in 0..2 {
    ///     model.zero_grad();
    ///     let gain = model[0].tensor().square()?.neg()?.sum(..)?;
    ///     gain.backward()?;
    ///     optimizer.step(&model)?;
    /// }
    /// let expected = Tensor::from([0.5181_f32, -1.0361]); // PyTorch's
    /// assert!(model[0].detach().allclose(&expected, Tolerance::new().atol(1e-4))?);
    ///
    /// let config = SGDConfig::new(0.1).momentum(0.9).nesterov(true);
    /// assert!(config.clone().dampening(0.5).build(&model).is_err());
    /// assert_eq!(config.build(&model)?.groups()[0].options, config);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct SGDConfig {
        required {
            /// The learning rate.
            lr: f64,
        }
        optional {
            /// The momentum factor.
            momentum: f64 = 0.0,
            /// The dampening of a new gradient's contribution to the momentum.
            dampening: f64 = 0.0,
            /// The weight decay, added to the gradient.
            weight_decay: f64 = 0.0,
            /// Whether to use Nesterov momentum.
            nesterov: bool = false,
            /// Whether to maximize instead of minimize.
            maximize: bool = false,
        }
    }
}

impl SGD {
    /// Makes the optimizer without momentum and weight decay.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        SGDConfig::new(lr).build(model)
    }
}

/// The state is the momentum.
impl UpdateRule for SGDConfig {
    const NAME: &'static str = "SGD";
    type State = Tensor;

    fn check(&self) -> Result<()> {
        at_least_0(Self::NAME, "lr", self.lr)?;
        at_least_0(Self::NAME, "momentum", self.momentum)?;
        at_least_0(Self::NAME, "weight_decay", self.weight_decay)?;
        if self.nesterov && (self.momentum <= 0.0 || self.dampening != 0.0) {
            let problem = format!(
                "needs a momentum above 0 and no dampening, not {} and {}",
                self.momentum, self.dampening
            );
            return Err(Error::argument(Self::NAME, "nesterov", true, problem));
        }
        Ok(())
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

    fn update(&self, value: &Tensor, grad: &Tensor, buffer: &mut Option<Tensor>) -> Result<Tensor> {
        update_copy(step, self, value, grad, buffer)
    }

    fn update_in_place() -> Option<UpdateInPlace<Self>> {
        Some(UpdateInPlace(step))
    }
}

fn step(
    options: &SGDConfig,
    value: &mut Tensor,
    grad: &Tensor,
    buffer: &mut Option<Tensor>,
) -> Result<()> {
    let is_first = buffer.is_none();
    let done = match keep_if(buffer, options.momentum != 0.0, value)? {
        Some(buffer) => {
            let formula = WithMomentum { options, is_first };
            update_elements([value, buffer], [grad], formula)
        }
        None => {
            let &SGDConfig {
                lr,
                weight_decay,
                maximize,
                ..
            } = options;
            let formula = Plain {
                lr,
                weight_decay,
                maximize,
            };
            update_elements([value], [grad], formula)
        }
    };
    if is_first && done.is_err() {
        *buffer = None;
    }
    done
}

/// Without momentum. It holds the numbers by value (see [`UpdateFormula::apply`]).
#[derive(Clone, Copy)]
struct Plain {
    lr: f64,
    weight_decay: f64,
    maximize: bool,
}

impl UpdateFormula<1, 1> for Plain {
    #[inline]
    fn apply<T: Real>(self, [p]: [T; 1], [g]: [T; 1]) -> [T; 1] {
        let g = decay_gradient(g, p, self.weight_decay, self.maximize);
        [p.add_scaled(g, -self.lr)]
    }
}

#[derive(Clone, Copy)]
struct WithMomentum<'a> {
    options: &'a SGDConfig,
    /// Whether the momentum starts with this gradient.
    is_first: bool,
}

impl UpdateFormula<2, 1> for WithMomentum<'_> {
    #[inline]
    fn apply<T: Real>(self, [p, b]: [T; 2], [g]: [T; 1]) -> [T; 2] {
        let SGDConfig {
            lr,
            momentum,
            dampening,
            nesterov,
            ..
        } = *self.options;
        let g = decay_gradient(g, p, self.options.weight_decay, self.options.maximize);
        let b = match self.is_first {
            true => g,
            false => (b * momentum).add_scaled(g, 1.0 - dampening),
        };
        let step = if nesterov {
            g.add_scaled(b, momentum)
        } else {
            b
        };
        [p.add_scaled(step, -lr), b]
    }
}
