use module_core::{DType, Error, Module, Result, Tensor};

use super::arithmetic::{DecayAndMove, lerp};
use super::range::at_least_0;
use super::state_fields::StateField;
use super::{ParamState, RuleOptimizer, Slots, UpdateRule};
use crate::config::config;

/// Steps by the gradient over the root of its average square, of which only the means of rows and columns are kept: a
/// matrix `[m, n]` has `m + n` numbers of state.
///
/// With gradient `g`, parameter `p`, learning rate `γ` and step `t`, for parameters of two or more dimensions:
///
/// ```text
/// ρ = min(γ, 1/√t)      α = max(ε₂, RMS(p))·ρ      β = t^τ               β₂ decay τ
/// p ← p - γ·λ·p                                                          weight decay λ
/// R ← R + β·(mean of g² over columns - R)      C ← C + β·(mean of g² over rows - C)
/// V = R·C / max(mean(R), ε₁)
/// u = g / √max(V, ε₁²)
/// p ← p - α·u / max(1, RMS(u)/d)                                         clipping threshold d
/// ```
///
/// For vectors, `V ← V + β·(g² - V)` itself is kept.
///
/// Source: `torch.optim.Adafactor`; Shazeer and Stern, *Adafactor: Adaptive Learning Rates with Sublinear Memory
/// Cost* (2018).
///
/// # Example
///
/// ```
/// use module_nn::optim::{AdafactorState, ParamState};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = Adafactor::new(&model, 1e-2)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// let state: &AdafactorState = optimizer.states().get("weight").unwrap();
/// let slots: Vec<&str> = state.slots()?.into_iter().map(|(name, _)| name).collect();
/// assert_eq!(slots, ["step", "row_var", "col_var"]);
/// # Ok::<(), Error>(())
/// ```
pub type Adafactor = RuleOptimizer<AdafactorConfig>;

config! {
    /// The arguments of [`Adafactor`].
    ///
    /// It is an error to build an optimizer with a negative rate, epsilon or decay, a positive `beta2_decay`, or `d`
    /// below 1.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::Tolerance;
    /// use module_nn::prelude::*;
    ///
    /// let model = [Parameter::new(Tensor::from([1.0_f32, -2.0]))?];
    /// let config = AdafactorConfig::new(0.1)
    ///     .beta2_decay(-0.5)
    ///     .eps((None, 0.01))
    ///     .d(2.0)
    ///     .weight_decay(0.1)
    ///     .maximize(true);
    /// let mut optimizer = config.build(&model)?;
    /// for _ in 0..2 {
    ///     model.zero_grad();
    ///     let gain = model[0].tensor().square()?.neg()?.sum(..)?;
    ///     gain.backward()?;
    ///     optimizer.step(&model)?;
    /// }
    /// let expected = Tensor::from([0.6904_f32, -1.6661]); // PyTorch's
    /// assert!(model[0].detach().allclose(&expected, Tolerance::new().atol(1e-4))?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct AdafactorConfig {
        required {
            /// The maximum learning rate; PyTorch's is 1e-2 if none is given.
            lr: f64,
        }
        optional {
            /// The exponent of the step count with which a gradient enters the average square.
            beta2_decay: f64 = -0.8,
            /// The lower bound of the root of the average square (by default the dtype's epsilon), and the lower bound of
            /// the parameter's scale.
            eps: (Option<f64>, f64) = (None, 1e-3),
            /// The root mean square above which an update is scaled down.
            d: f64 = 1.0,
            /// The weight decay, multiplied by the learning rate.
            weight_decay: f64 = 0.0,
            /// Whether to maximize instead of minimize.
            maximize: bool = false,
        }
    }
}

/// The state of [`Adafactor`] for one parameter: the number of its steps and the average square of its gradients.
#[derive(Clone, Debug)]
pub struct AdafactorState {
    step: u64,
    variance: Variance,
}

/// An average square.
#[derive(Clone, Debug)]
enum Variance {
    /// The means over the last dimension and over the one before it.
    Factored { row: Tensor, col: Tensor },
    /// Every element.
    Full(Tensor),
}

impl AdafactorState {
    fn new(value: &Tensor) -> Result<Self> {
        let zeros = || value.zeros_like();
        let variance = match value.rank() > 1 {
            true => Variance::Factored {
                row: zeros()?.amax_keepdim(-1)?,
                col: zeros()?.amax_keepdim(-2)?,
            },
            false => Variance::Full(zeros()?),
        };
        Ok(Self { step: 0, variance })
    }
}

impl ParamState for AdafactorState {
    const UNLIKE_PARAMETER: &'static [&'static str] = &["step", "row_var", "col_var"];

    fn tensor(&self) -> Option<&Tensor> {
        match &self.variance {
            Variance::Factored { .. } => None,
            Variance::Full(variance) => Some(variance),
        }
    }

    fn slots(&self) -> Result<Vec<(&'static str, Tensor)>> {
        let step = self.step.save().map(|step| ("step", step));
        let variance = match self.variance.clone() {
            Variance::Factored { row, col } => vec![("row_var", row), ("col_var", col)],
            Variance::Full(variance) => vec![("variance", variance)],
        };
        Ok(step.into_iter().chain(variance).collect())
    }

    fn from_slots(slots: &mut Slots<'_>) -> Result<Self, String> {
        let variance = match slots.take_optional("variance") {
            Some(variance) => Variance::Full(variance),
            None => Variance::Factored {
                row: slots.take("row_var")?,
                col: slots.take("col_var")?,
            },
        };
        let step = StateField::take(slots, "step")?;
        Ok(Self { step, variance })
    }
}

impl Adafactor {
    /// Makes the optimizer with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// A negative learning rate.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        AdafactorConfig::new(lr).build(model)
    }
}

impl UpdateRule for AdafactorConfig {
    const NAME: &'static str = "Adafactor";
    type State = AdafactorState;

    fn check(&self) -> Result<()> {
        let refuse = |name, value: f64, problem: &str| {
            Err(Error::argument(Self::NAME, name, value, problem.to_owned()))
        };
        at_least_0(Self::NAME, "lr", self.lr)?;
        if self.beta2_decay.is_nan() || self.beta2_decay > 0.0 {
            return refuse("beta2_decay", self.beta2_decay, "must be at most 0");
        }
        at_least_0(Self::NAME, "eps.0", self.eps.0.unwrap_or(0.0))?;
        at_least_0(Self::NAME, "eps.1", self.eps.1)?;
        if self.d.is_nan() || self.d < 1.0 {
            return refuse("d", self.d, "must be at least 1");
        }
        at_least_0(Self::NAME, "weight_decay", self.weight_decay)
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
        state: &mut Option<AdafactorState>,
    ) -> Result<Tensor> {
        let last = match state {
            Some(state) => state.clone(),
            None => AdafactorState::new(value)?,
        };
        let grad = if self.maximize {
            grad.neg()?
        } else {
            grad.clone()
        };
        let smallest = self.eps.0.unwrap_or_else(|| epsilon(value.dtype()));
        let step = last.step.saturating_add(1);
        let t = step as f64;
        let weight = t.powf(self.beta2_decay);
        let rate = self.lr.min(1.0 / t.sqrt());
        let alpha = self.eps.1.max(root_mean_square(value)?) * rate;
        let (variance, estimate) = match &last.variance {
            Variance::Factored { row, col } => {
                let row = lerp(row, &mean_square(&grad, -1)?, weight)?;
                let col = lerp(col, &mean_square(&grad, -2)?, weight)?;
                let mean = row.mean_keepdim(-2)?.clamp_min(smallest)?;
                let estimate = (row.mul(&col)? / mean)?;
                (Variance::Factored { row, col }, estimate)
            }
            Variance::Full(variance) => {
                let variance = lerp(variance, &grad.mul(&grad)?, weight)?;
                (Variance::Full(variance.clone()), variance)
            }
        };
        // Each result takes the place of the one before: in one expression all would live until its end.
        let mut update = estimate.clamp_min(smallest * smallest)?;
        drop(estimate);
        update = update.rsqrt()?;
        update = (update * &grad)?;
        let scale = (root_mean_square(&update)? / self.d).max(1.0);
        let step_of_value = DecayAndMove {
            lr: self.lr,
            weight_decay: self.weight_decay,
            factor: -alpha / scale,
        };
        let value = step_of_value.apply_to(value, &update)?;
        *state = Some(AdafactorState { step, variance });
        Ok(value)
    }
}

/// The distance from 1 to the next number of the dtype.
fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::EPSILON,
        DType::F16 => 2.0_f64.powi(-10),
        DType::BF16 => 2.0_f64.powi(-7),
        _ => f64::from(f32::EPSILON),
    }
}

/// `√(Σ x²/n)`.
fn root_mean_square(x: &Tensor) -> Result<f64> {
    let norm: f64 = x.norm(2.0, ..)?.to_dtype(DType::F64)?.item()?;
    Ok(norm / (x.numel() as f64).sqrt())
}

/// The mean of the squares over a dimension, which is kept.
fn mean_square(x: &Tensor, dim: isize) -> Result<Tensor> {
    let norm = x.norm_keepdim(2.0, dim)?;
    let size = x.size(dim)?;
    norm.mul(&norm)?.div(size as f64)
}
