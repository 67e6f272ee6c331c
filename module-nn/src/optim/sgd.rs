use module_core::{Error, Module, Result, Select, Tensor};

use super::range::check_range;
use super::{ParamGroups, RuleOptimizer, UpdateRule};
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

impl SGDConfig {
    /// An optimizer of all parameters of a model.
    ///
    /// # Errors
    ///
    /// A negative rate, momentum or decay; Nesterov without momentum or with dampening.
    pub fn build(&self, model: &dyn Module) -> Result<SGD> {
        ParamGroups::new(self.clone()).build(model)
    }

    /// Other options for the parameters that `select` covers, of which the arguments of this configuration are the
    /// defaults. More groups can follow, and then `build`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = [Linear::new(2, 2)?, Linear::new(2, 1)?];
    /// let config = SGDConfig::new(0.1).group("0", |g| SGDConfig { lr: 0.01, ..g });
    /// assert_eq!(config.build(&model)?.group_lrs(), [0.1, 0.01]);
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn group(
        self,
        select: impl Into<Select>,
        change: impl FnOnce(Self) -> Self,
    ) -> ParamGroups<Self> {
        ParamGroups::new(self).group(select, change)
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
        let at_least_0 =
            |name, value| check_range(Self::NAME, name, value, value >= 0.0, "at least 0");
        at_least_0("lr", self.lr)?;
        at_least_0("momentum", self.momentum)?;
        at_least_0("weight_decay", self.weight_decay)?;
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

    fn update(&self, value: &Tensor, grad: &Tensor, buffer: &mut Option<Tensor>) -> Result<Tensor> {
        let mut grad = match self.maximize {
            true => grad.neg()?,
            false => grad.clone(),
        };
        if self.weight_decay != 0.0 {
            grad = grad.add_scaled(value, self.weight_decay)?;
        }
        if self.momentum == 0.0 {
            *buffer = None;
            return value.add_scaled(&grad, -self.lr);
        }
        let next = match &*buffer {
            Some(last) => last
                .mul(self.momentum)?
                .add_scaled(&grad, 1.0 - self.dampening)?,
            None => grad.clone(),
        };
        let step = match self.nesterov {
            true => grad.add_scaled(&next, self.momentum)?,
            false => next.clone(),
        };
        let value = value.add_scaled(&step, -self.lr)?;
        *buffer = Some(next);
        Ok(value)
    }
}
