use module_core::fused::{SGDStep, sgd_step};
use module_core::{Error, Module, Result, Tensor};

use super::range::at_least_0;
use super::rule::UpdateInPlace;
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// Stochastic gradient descent, with momentum and weight decay if wanted.
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
    /// No optimizer is built with a negative rate, momentum or decay, or with Nesterov's step without momentum or with
    /// dampening.
    pub struct SGDConfig {
        required {
            /// The learning rate.
            lr: f64,
        }
        optional {
            /// How much of the last step is kept.
            momentum: f64 = 0.0,
            /// How much less of a new gradient enters the momentum.
            dampening: f64 = 0.0,
            /// How much of the parameter is added to its gradient.
            weight_decay: f64 = 0.0,
            /// Whether the step looks ahead along the momentum.
            nesterov: bool = false,
            /// Whether to climb instead of to descend.
            maximize: bool = false,
        }
    }
}

impl SGD {
    /// Without momentum and weight decay.
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
        let mut value = value.clone();
        step(self, &mut value, grad, buffer)?;
        Ok(value)
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
    let numbers = SGDStep {
        lr: options.lr,
        momentum: options.momentum,
        dampening: options.dampening,
        weight_decay: options.weight_decay,
        nesterov: options.nesterov,
        maximize: options.maximize,
    };
    sgd_step(value, grad, buffer, &numbers)
}
