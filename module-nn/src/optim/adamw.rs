use module_core::fused::{AdamWMoments, AdamWStep, adamw_step};
use module_core::{Error, Module, Result, Tensor};

use super::range::{at_least_0, below_1};
use super::rule::UpdateInPlace;
use super::{ParamState, RuleOptimizer, Slots, UpdateRule};
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
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// # Ok::<(), Error>(())
/// ```
pub type AdamW = RuleOptimizer<AdamWConfig>;

/// What [`Adam`](super::Adam) and [`AdamW`] keep of one parameter: the number of its steps and the moments of its gradients.
pub struct AdamState {
    step: u64,
    moments: AdamWMoments,
}

impl AdamState {
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

impl ParamState for AdamState {
    const UNLIKE_PARAMETER: &'static [&'static str] = &["step"];

    fn tensor(&self) -> Option<&Tensor> {
        Some(&self.moments.exp_avg)
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

    fn from_slots(slots: &mut Slots<'_>) -> Result<Self, String> {
        let step = slots.take("step")?;
        let number = step.item::<i64>().map_err(|e| format!("`step`: {e}"))?;
        let moments = AdamWMoments {
            exp_avg: slots.take("exp_avg")?,
            exp_avg_sq: slots.take("exp_avg_sq")?,
            max_exp_avg_sq: slots.take_optional("max_exp_avg_sq"),
        };
        let step = u64::try_from(number).map_err(|_| format!("`step` is {number}"))?;
        Ok(Self { step, moments })
    }
}

config! {
    /// The arguments of [`AdamW`].
    ///
    /// No optimizer is built with a negative rate, epsilon or decay, or betas outside `[0, 1)`.
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

impl UpdateRule for AdamWConfig {
    const NAME: &'static str = "AdamW";
    type State = AdamState;

    fn check(&self) -> Result<()> {
        check_adam(Self::NAME, self.lr, self.betas, self.eps, self.weight_decay)
    }

    fn check_states(&self, states: &[&AdamState]) -> Result<()> {
        check_amsgrad(Self::NAME, self.amsgrad, states)
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    fn set_lr(&mut self, lr: f64) {
        self.lr = lr;
    }

    fn momentum(&self) -> Option<f64> {
        Some(self.betas.0)
    }

    fn set_momentum(&mut self, momentum: f64) {
        self.betas.0 = momentum;
    }

    fn update(
        &self,
        value: &Tensor,
        grad: &Tensor,
        state: &mut Option<AdamState>,
    ) -> Result<Tensor> {
        let mut value = value.clone();
        step(self, &mut value, grad, state)?;
        Ok(value)
    }

    fn update_in_place() -> Option<UpdateInPlace<Self>> {
        Some(UpdateInPlace(step))
    }
}

fn step(
    options: &AdamWConfig,
    value: &mut Tensor,
    grad: &Tensor,
    state: &mut Option<AdamState>,
) -> Result<()> {
    let numbers = AdamWStep {
        lr: options.lr,
        betas: options.betas,
        eps: options.eps,
        weight_decay: options.weight_decay,
        maximize: options.maximize,
        step: 0,
    };
    adam_step(value, grad, state, options.amsgrad, numbers)
}

/// Moves a parameter by the next step, whose number is the state's.
pub(super) fn adam_step(
    value: &mut Tensor,
    grad: &Tensor,
    state: &mut Option<AdamState>,
    amsgrad: bool,
    mut numbers: AdamWStep,
) -> Result<()> {
    let state = match state {
        Some(state) => state,
        None => state.insert(AdamState::new(value, amsgrad)?),
    };
    numbers.step = state.step.saturating_add(1);
    adamw_step(value, grad, &mut state.moments, &numbers)?;
    state.step = numbers.step;
    Ok(())
}

/// Refuses a negative rate, epsilon or decay, and betas outside `[0, 1)`.
pub(super) fn check_adam(
    name: &'static str,
    lr: f64,
    betas: (f64, f64),
    eps: f64,
    weight_decay: f64,
) -> Result<()> {
    at_least_0(name, "lr", lr)?;
    at_least_0(name, "eps", eps)?;
    below_1(name, "betas.0", betas.0)?;
    below_1(name, "betas.1", betas.1)?;
    at_least_0(name, "weight_decay", weight_decay)
}

/// Refuses states with the greatest second moments where they are not used, and states without where they are.
pub(super) fn check_amsgrad(
    name: &'static str,
    amsgrad: bool,
    states: &[&AdamState],
) -> Result<()> {
    let have_max = states.iter().filter(|s| s.moments.max_exp_avg_sq.is_some());
    let (max, all) = (have_max.count(), states.len());
    if max == if amsgrad { all } else { 0 } {
        return Ok(());
    }
    let problem = format!("the state has {max} `max_exp_avg_sq` for {all} parameters");
    Err(Error::argument(name, "amsgrad", amsgrad, problem))
}
