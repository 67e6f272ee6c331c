//! The step that Adam and AdamW share.

use module_core::fused::{Real, UpdateFormula, update_elements};
use module_core::{Error, Result, Tensor};

use super::arithmetic::{average_square, decay_gradient, power};
use super::range::{at_least_0, below_1};
use super::state_fields::{keep_if, or_first, param_state};

param_state! {
    /// The state of [`Adam`](super::Adam) and [`AdamW`](super::AdamW) for one parameter: the number of its steps and the
    /// moments of its gradients.
    pub struct AdamState {
        /// The first moment.
        exp_avg: Tensor,
        /// The second moment.
        exp_avg_sq: Tensor,
        /// The maximum second moment so far, with AMSGrad only.
        max_exp_avg_sq: Option<Tensor>,
        /// The number of steps.
        step: u64,
    }
}

/// The options of a step, which its formula holds by value (see [`UpdateFormula::apply`]).
#[derive(Clone, Copy)]
pub(super) struct AdamNumbers {
    pub(super) lr: f64,
    pub(super) betas: (f64, f64),
    pub(super) eps: f64,
    /// The factor of the parameter before it is moved.
    pub(super) decay: f64,
    /// The part of the parameter that is added to its gradient.
    pub(super) weight_decay: f64,
    pub(super) maximize: bool,
}

/// Moves a parameter by the next step, whose number is the state's.
pub(super) fn adam_step(
    value: &mut Tensor,
    grad: &Tensor,
    state: &mut Option<AdamState>,
    amsgrad: bool,
    numbers: AdamNumbers,
) -> Result<()> {
    let state = or_first(state, value)?;
    let step = state.step.saturating_add(1);
    let AdamNumbers { lr, betas, .. } = numbers;
    let formula = Step {
        step_size: lr / (1.0 - power(betas.0, step)),
        root_correction: (1.0 - power(betas.1, step)).sqrt(),
        numbers,
    };
    let max = keep_if(&mut state.max_exp_avg_sq, amsgrad, value)?;
    let (m, v) = (&mut state.exp_avg, &mut state.exp_avg_sq);
    match max {
        Some(max) => update_elements([value, m, v, max], [grad], formula),
        None => update_elements([value, m, v], [grad], formula),
    }?;
    state.step = step;
    Ok(())
}

#[derive(Clone, Copy)]
struct Step {
    numbers: AdamNumbers,
    step_size: f64,
    root_correction: f64,
}

impl Step {
    #[inline]
    fn moments<T: Real>(self, [p, m, v]: [T; 3], g: T) -> [T; 2] {
        let AdamNumbers { betas, .. } = self.numbers;
        let g = decay_gradient(g, p, self.numbers.weight_decay, self.numbers.maximize);
        [m.lerp(g, 1.0 - betas.0), average_square(v, g, betas.1)]
    }

    #[inline]
    fn moved<T: Real>(self, p: T, m: T, square: T) -> T {
        let root = square.sqrt() / self.root_correction + self.numbers.eps;
        (p * self.numbers.decay).add_quotient(-self.step_size, m, root)
    }
}

/// The parameter and its moments.
impl UpdateFormula<3, 1> for Step {
    #[inline]
    fn apply<T: Real>(self, [p, m, v]: [T; 3], [g]: [T; 1]) -> [T; 3] {
        let [m, v] = self.moments([p, m, v], g);
        [self.moved(p, m, v), m, v]
    }
}

/// AMSGrad.
impl UpdateFormula<4, 1> for Step {
    #[inline]
    fn apply<T: Real>(self, [p, m, v, max]: [T; 4], [g]: [T; 1]) -> [T; 4] {
        let [m, v] = self.moments([p, m, v], g);
        let max = max.maximum(v);
        [self.moved(p, m, max), m, v, max]
    }
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

/// Refuses states with maximum second moments if they are not used, and states without if they are.
pub(super) fn check_amsgrad(
    name: &'static str,
    amsgrad: bool,
    states: &[&AdamState],
) -> Result<()> {
    let have_max = states.iter().filter(|s| s.max_exp_avg_sq.is_some());
    let (max, all) = (have_max.count(), states.len());
    if max == if amsgrad { all } else { 0 } {
        return Ok(());
    }
    let problem = format!("the state has {max} `max_exp_avg_sq` for {all} parameters");
    Err(Error::argument(name, "amsgrad", amsgrad, problem))
}
