use indexmap::IndexMap;
use module_core::fused::{AdamWMoments, AdamWStep, adamw_step};
use module_core::{Error, Module, Result, Snapshot, Stateful, Tensor};

use super::Optimizer;
use super::known::{Known, State, check, slot};
use crate::config::config;

/// Adam with weight decay that does not pass through the moments.
///
/// With gradient `g`, parameter `p`, learning rate `γ` and step `t`:
///
/// ```text
/// p ← p - γ·λ·p                                weight decay λ
/// m ← β₁·m + (1 - β₁)·g      v ← β₂·v + (1 - β₂)·g²
/// p ← p - γ/(1 - β₁ᵗ) · m / (√v/√(1 - β₂ᵗ) + ε)
/// ```
///
/// Source: `torch.optim.AdamW`; Loshchilov and Hutter, *Decoupled Weight Decay Regularization*
/// (2019).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = AdamW::new(&model, 1e-3)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(.., false)?.backward()?;
/// optimizer.step(&model)?;
/// # Ok::<(), Error>(())
/// ```
pub struct AdamW {
    config: AdamWConfig,
    parameters: Known<Memory>,
}

/// What is remembered of one parameter.
struct Memory {
    step: u64,
    moments: AdamWMoments,
}

impl Memory {
    /// That of a parameter which was never moved.
    fn new(value: &Tensor, amsgrad: bool) -> Result<Self> {
        let zeros = || value.zeros_like();
        let moments = AdamWMoments {
            exp_avg: zeros()?,
            exp_avg_sq: zeros()?,
            max_exp_avg_sq: amsgrad.then(zeros).transpose()?,
        };
        Ok(Self { step: 0, moments })
    }
}

impl State for Memory {
    fn tensor(&self) -> &Tensor {
        &self.moments.exp_avg
    }

    fn slots(&self) -> Result<Vec<(&'static str, Tensor)>> {
        let moments = self.moments.clone();
        let too_large = |_| Error::argument("state", "step", self.step, "exceeds 2⁶³ - 1");
        let step = i64::try_from(self.step).map_err(too_large)?;
        let mut slots = vec![
            ("step", Tensor::from(step)),
            ("exp_avg", moments.exp_avg),
            ("exp_avg_sq", moments.exp_avg_sq),
        ];
        slots.extend(moments.max_exp_avg_sq.map(|max| ("max_exp_avg_sq", max)));
        Ok(slots)
    }

    fn from_slots(slots: &mut IndexMap<&str, Tensor>) -> Result<Self, String> {
        let step = slot(slots, "step")?;
        let number = step.item::<i64>().map_err(|e| format!("`step`: {e}"))?;
        let moments = AdamWMoments {
            exp_avg: slot(slots, "exp_avg")?,
            exp_avg_sq: slot(slots, "exp_avg_sq")?,
            max_exp_avg_sq: slot(slots, "max_exp_avg_sq").ok(),
        };
        let step = u64::try_from(number).map_err(|_| format!("`step` is {number}"))?;
        Ok(Self { step, moments })
    }
}

config! {
    /// The arguments of [`AdamW`].
    pub struct AdamWConfig {
        required {
            /// The learning rate; PyTorch's is 1e-3 if none is given.
            lr: f64,
        }
        optional {
            /// How much of the first and the second moment is kept.
            betas: (f64, f64) = (0.9, 0.999),
            /// What is added to the root of the second moment.
            eps: f64 = 1e-8,
            /// How much of the parameter decays, times the learning rate.
            weight_decay: f64 = 0.01,
            /// Whether the greatest second moment so far is used.
            amsgrad: bool = false,
            /// Whether to climb instead of to descend.
            maximize: bool = false,
        }
    }
}

impl AdamWConfig {
    /// An optimiser of all parameters of a model.
    ///
    /// # Errors
    ///
    /// A negative rate, epsilon or decay, betas outside `[0, 1)`.
    pub fn build(&self, model: &dyn Module) -> Result<AdamW> {
        self.check()?;
        Ok(AdamW {
            config: self.clone(),
            parameters: Known::new(model),
        })
    }

    fn check(&self) -> Result<()> {
        let (beta1, beta2) = self.betas;
        check("AdamW", "lr", self.lr, self.lr >= 0.0, "at least 0")?;
        check("AdamW", "eps", self.eps, self.eps >= 0.0, "at least 0")?;
        check(
            "AdamW",
            "betas.0",
            beta1,
            (0.0..1.0).contains(&beta1),
            "at least 0 and below 1",
        )?;
        check(
            "AdamW",
            "betas.1",
            beta2,
            (0.0..1.0).contains(&beta2),
            "at least 0 and below 1",
        )?;
        check(
            "AdamW",
            "weight_decay",
            self.weight_decay,
            self.weight_decay >= 0.0,
            "at least 0",
        )?;
        Ok(())
    }
}

impl AdamW {
    /// With PyTorch's defaults for the rest.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        AdamWConfig::new(lr).build(model)
    }
}

impl Optimizer for AdamW {
    fn step(&mut self, model: &dyn Module) -> Result<()> {
        let AdamWConfig {
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            maximize,
        } = self.config;
        self.parameters.step(model, |value, grad, memory| {
            let known = match memory {
                Some(known) => known,
                None => memory.insert(Memory::new(value, amsgrad)?),
            };
            let numbers = AdamWStep {
                lr,
                betas,
                eps,
                weight_decay,
                maximize,
                step: known.step.saturating_add(1),
            };
            let value = adamw_step(value, grad, &mut known.moments, &numbers)?;
            known.step = numbers.step;
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

/// The configuration, the learning rate of the moment in it, and the moments and steps of each parameter
/// under its path.
impl Stateful for AdamW {
    fn state(&self) -> Result<Snapshot> {
        self.parameters.state("AdamW", &self.config)
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        Snapshot::default().with("config", &self.config)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let config = &mut self.config;
        let name = "AdamW";
        self.parameters
            .load_state(name, state, |loaded: AdamWConfig| {
                loaded.check()?;
                let count = |slot| {
                    let slots = state
                        .tensors()
                        .keys()
                        .filter_map(|key| key.rsplit('.').next());
                    slots.filter(|name| *name == slot).count()
                };
                let (max, all) = (count("max_exp_avg_sq"), count("exp_avg"));
                if max != if loaded.amsgrad { all } else { 0 } {
                    let problem =
                        format!("the state has {max} `max_exp_avg_sq` for {all} parameters");
                    return Err(Error::argument(
                        "load_state",
                        "amsgrad",
                        loaded.amsgrad,
                        problem,
                    ));
                }
                *config = loaded;
                Ok(())
            })
    }
}
