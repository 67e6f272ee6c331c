use indexmap::IndexMap;
use module_core::{Error, Module, Result, Snapshot, Stateful, Tensor};

use super::Optimizer;
use super::known::{Known, State, check, slot};
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
/// model.call(Tensor::from([[1.0_f32]]))?.sum(.., false)?.backward()?;
/// let before = model.weight().tensor().item::<f32>()?;
/// optimizer.step(&model)?;
/// assert_eq!(model.weight().tensor().item::<f32>()?, before - 0.1);
/// # Ok::<(), Error>(())
/// ```
pub struct SGD {
    config: SGDConfig,
    momentum_buffers: Known<Tensor>,
}

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
    /// An optimiser of all parameters of a model.
    ///
    /// # Errors
    ///
    /// A negative rate, momentum or decay; Nesterov without momentum or with dampening.
    pub fn build(&self, model: &dyn Module) -> Result<SGD> {
        self.check()?;
        Ok(SGD {
            config: self.clone(),
            momentum_buffers: Known::new(model),
        })
    }

    fn check(&self) -> Result<()> {
        check("SGD", "lr", self.lr, self.lr >= 0.0, "at least 0")?;
        check(
            "SGD",
            "momentum",
            self.momentum,
            self.momentum >= 0.0,
            "at least 0",
        )?;
        check(
            "SGD",
            "weight_decay",
            self.weight_decay,
            self.weight_decay >= 0.0,
            "at least 0",
        )?;
        if self.nesterov && (self.momentum <= 0.0 || self.dampening != 0.0) {
            let problem = format!(
                "needs a momentum above 0 and no dampening, not {} and {}",
                self.momentum, self.dampening
            );
            return Err(Error::argument("SGD", "nesterov", true, problem));
        }
        Ok(())
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

impl Optimizer for SGD {
    fn step(&mut self, model: &dyn Module) -> Result<()> {
        let SGDConfig {
            lr,
            momentum,
            dampening,
            weight_decay,
            nesterov,
            maximize,
        } = self.config;
        self.momentum_buffers.step(model, |value, grad, buffer| {
            let mut grad = if maximize { grad.neg()? } else { grad.clone() };
            if weight_decay != 0.0 {
                grad = grad.add_scaled(value, weight_decay)?;
            }
            if momentum == 0.0 {
                *buffer = None;
                return value.add_scaled(&grad, -lr);
            }
            let next = match &*buffer {
                Some(last) => last.mul(momentum)?.add_scaled(&grad, 1.0 - dampening)?,
                None => grad.clone(),
            };
            let step = match nesterov {
                true => grad.add_scaled(&next, momentum)?,
                false => next.clone(),
            };
            let value = value.add_scaled(&step, -lr)?;
            *buffer = Some(next);
            Ok(value)
        })
    }

    fn lr(&self) -> f64 {
        self.config.lr
    }

    fn set_lr(&mut self, lr: f64) {
        self.config.lr = lr;
    }
}

impl State for Tensor {
    fn tensor(&self) -> &Tensor {
        self
    }

    fn slots(&self) -> Result<Vec<(&'static str, Tensor)>> {
        Ok(vec![("momentum_buffer", self.clone())])
    }

    fn from_slots(slots: &mut IndexMap<&str, Tensor>) -> Result<Self, String> {
        slot(slots, "momentum_buffer")
    }
}

/// The configuration, the learning rate of the moment in it, and the momentum of each parameter under its
/// path.
impl Stateful for SGD {
    fn state(&self) -> Result<Snapshot> {
        self.momentum_buffers.state("SGD", &self.config)
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        Snapshot::default().with("config", &self.config)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let config = &mut self.config;
        self.momentum_buffers
            .load_state("SGD", state, |loaded: SGDConfig| {
                loaded.check()?;
                *config = loaded;
                Ok(())
            })
    }
}
