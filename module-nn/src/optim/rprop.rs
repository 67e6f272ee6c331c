use module_core::{Error, Module, Result, Tensor};

use super::arithmetic::{add_product, decay_gradient};
use super::range::at_least_0;
use super::state_fields::param_state;
use super::{RuleOptimizer, UpdateRule};
use crate::config::config;

/// Steps by the sign of the gradient, of sizes that grow while the sign stays and shrink when it changes. It is
/// meant for gradients of all samples at once.
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
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = Rprop::new(&model, 1e-2)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// # Ok::<(), Error>(())
/// ```
pub type Rprop = RuleOptimizer<RpropConfig>;

config! {
    /// The arguments of [`Rprop`].
    ///
    /// No optimizer is built with a negative rate, or etas that are not on both sides of 1.
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
            /// Whether to climb instead of to descend.
            maximize: bool = false,
        }
    }
}

param_state! {
    /// What [`Rprop`] keeps of one parameter: the number of its steps, the last gradient and the sizes of the steps.
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
    /// With PyTorch's defaults for the rest.
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
        let last = match state {
            Some(state) => state.clone(),
            None => RpropState {
                prev: value.zeros_like()?,
                step_size: value.zeros_like()?.add(self.lr)?,
                step: 0,
            },
        };
        let grad = decay_gradient(grad, value, 0.0, self.maximize)?;
        let product = grad.mul(&last.prev)?;
        let (grows, shrinks) = (product.gt(0.0)?, product.lt(0.0)?);
        let (eta_minus, eta_plus) = self.etas;
        let (smallest, largest) = self.step_sizes;
        let sizes = &last.step_size;
        let grown = grows.where_(&sizes.mul(eta_plus)?, sizes)?;
        let sizes = shrinks.where_(&sizes.mul(eta_minus)?, &grown)?;
        let step_size = sizes.clamp(smallest, largest)?;
        let prev = shrinks.where_(&grad.zeros_like()?, &grad)?;
        let value = add_product(value, -1.0, &prev.sign()?, &step_size)?;
        *state = Some(RpropState {
            prev,
            step_size,
            step: last.step.saturating_add(1),
        });
        Ok(value)
    }
}
