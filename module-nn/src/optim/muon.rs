use module_core::{DType, Error, Module, Result, Tensor};

use super::adam_step::{AdamNumbers, adam_step, check_adam};
use super::arithmetic::{DecayAndMove, lerp};
use super::range::at_least_0;
use super::{AdamState, ParamState, RuleOptimizer, Slots, UpdateRule};
use crate::config::config;
use serde::{Deserialize, Serialize};

/// Steps by the momentum with approximately equalized singular values, for weights of hidden layers.
///
/// With gradient `g`, matrix `W [a, b]` and learning rate `γ`:
///
/// ```text
/// B ← B + (1 - μ)·(g - B)                      momentum μ
/// O = orthogonalize(g + μ·(B - g)) (Nesterov) or orthogonalize(B)
/// W ← W - γ·λ·W - γ·f·O                        weight decay λ, f as `adjust_lr_fn` says
/// ```
///
/// `orthogonalize` divides by the Frobenius norm and iterates `X ← a·X + (b·A + c·A²)·X` with `A = X·Xᵀ`, by default five
/// times, in `bf16`.
///
/// This applies only to matrices. A group with [`use_muon(false)`](MuonConfig::use_muon) uses [`AdamW`](super::AdamW), the
/// right choice for biases, norms, embeddings and the last layer; any other parameter that is not a matrix is an error when
/// the optimizer is built.
///
/// Source: `torch.optim.Muon`; Jordan, *Muon: An optimizer for hidden layers in neural networks* (2024).
///
/// # Example
///
/// ```
/// use module_nn::optim::{MuonState, ParamState};
/// use module_nn::prelude::*;
///
/// let model = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new()).push(Linear::new(8, 2)?);
/// let config = MuonConfig::new(0.02).group("{**.bias,2}", |group| MuonConfig { lr: 1e-3, ..group.use_muon(false) });
/// let mut optimizer = config.build(&model)?;
/// model.call(Tensor::ones([3, 4], DType::F32)?)?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
/// assert_eq!(optimizer.groups()[0].parameters, ["0.weight"]);
/// let state: &MuonState = optimizer.states().get("0.weight").unwrap();
/// assert_eq!(state.slots()?[0].0, "momentum_buffer");
/// assert_eq!(optimizer.states().get("2.bias").unwrap().slots()?[0].0, "exp_avg"); // AdamW's.
/// // Without such groups, every parameter must be a matrix.
/// assert!(Muon::new(&model, 0.02).is_err());
/// # Ok::<(), Error>(())
/// ```
pub type Muon = RuleOptimizer<MuonConfig>;

/// How [`Muon`] adapts the learning rate to the shape `[a, b]` of a matrix: by the factor `f`.
///
/// # Example
///
/// ```
/// use module_nn::optim::AdjustLr;
/// use module_nn::prelude::*;
///
/// let config = MuonConfig::new(0.1).adjust_lr_fn(AdjustLr::MatchRmsAdamw);
/// let text = serde_json::to_value(&config).unwrap();
/// assert_eq!(text["adjust_lr_fn"], "match_rms_adamw");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AdjustLr {
    /// `√max(1, a/b)`.
    #[default]
    Original,
    /// `0.2·√max(a, b)`, which suits AdamW's learning rates.
    MatchRmsAdamw,
    /// `√(a/b)`.
    SpectralUnclamped,
}

config! {
    /// The arguments of [`Muon`].
    ///
    /// It is an error to build an optimizer with a negative rate, momentum, epsilon or decay, betas outside `[0, 1)`,
    /// or a hundred iterations or more.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::Tolerance;
    /// use module_nn::optim::AdjustLr;
    /// use module_nn::prelude::*;
    ///
    /// let model = [Parameter::new(Tensor::from([[1.0_f32, -2.0], [0.5, 3.0]]))?];
    /// let config = MuonConfig::new(0.1)
    ///     .momentum(0.9)
    ///     .nesterov(false)
    ///     .weight_decay(0.1)
    ///     .ns_coefficients((1.5, -0.5, 0.0))
    ///     .ns_steps(30_usize)
    ///     .eps(1e-6)
    ///     .adjust_lr_fn(AdjustLr::Original);
    /// let mut optimizer = config.build(&model)?;
    /// model[0].tensor().square()?.sum(..)?.backward()?;
    /// optimizer.step(&model)?;
    /// // With so many iterations, the step is `U·Vᵀ` of the gradient's singular value decomposition.
    /// let expected = Tensor::from([[0.9052_f32, -1.9270], [0.4420, 2.8852]]);
    /// assert!(model[0].detach().allclose(&expected, Tolerance::new().atol(1e-3))?);
    ///
    /// // AdamW for other parameters.
    /// let config = MuonConfig::new(1e-3).use_muon(false).betas((0.9, 0.95)).adamw_eps(1e-10);
    /// assert_eq!(config.build(&Linear::new(2, 1)?)?.group_momentums(), [Some(0.9)]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct MuonConfig {
        required {
            /// The learning rate; PyTorch's is 1e-3 if none is given.
            lr: f64,
        }
        optional {
            /// The weight decay, multiplied by the learning rate.
            weight_decay: f64 = 0.1,
            /// The decay rate of the momentum.
            momentum: f64 = 0.95,
            /// Whether to use Nesterov momentum.
            nesterov: bool = true,
            /// The coefficients `a`, `b` and `c`.
            ns_coefficients: (f64, f64, f64) = (3.4445, -4.775, 2.0315),
            /// The lower bound of the norm in the divisor.
            eps: f64 = 1e-7,
            /// The number of iterations of the orthogonalization.
            ns_steps: usize = 5,
            /// How the learning rate depends on the shape.
            adjust_lr_fn: AdjustLr = AdjustLr::Original,
            /// Whether the parameters use Muon; otherwise AdamW.
            use_muon: bool = true,
            /// AdamW's decay rates of the first and second moment.
            betas: (f64, f64) = (0.9, 0.999),
            /// Added to the root of the second moment by AdamW.
            adamw_eps: f64 = 1e-8,
        }
    }
}

/// The state of [`Muon`] for one parameter: the momentum, or AdamW's moments.
pub struct MuonState(Kept);

enum Kept {
    Momentum(Tensor),
    Moments(Box<AdamState>),
}

impl ParamState for MuonState {
    const UNLIKE_PARAMETER: &'static [&'static str] = AdamState::UNLIKE_PARAMETER;

    fn tensor(&self) -> Option<&Tensor> {
        match &self.0 {
            Kept::Momentum(momentum) => Some(momentum),
            Kept::Moments(moments) => moments.tensor(),
        }
    }

    fn slots(&self) -> Result<Vec<(&'static str, Tensor)>> {
        match &self.0 {
            Kept::Momentum(momentum) => momentum.slots(),
            Kept::Moments(moments) => moments.slots(),
        }
    }

    fn from_slots(slots: &mut Slots<'_>) -> Result<Self, String> {
        let kept = match slots.take_optional("momentum_buffer") {
            Some(momentum) => Kept::Momentum(momentum),
            None => Kept::Moments(Box::new(AdamState::from_slots(slots)?)),
        };
        Ok(Self(kept))
    }
}

impl Muon {
    /// Makes the optimizer with PyTorch's defaults for the other options, for a model whose parameters are all
    /// matrices.
    ///
    /// # Errors
    ///
    /// A negative learning rate, a parameter that is not a matrix.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        MuonConfig::new(lr).build(model)
    }
}

impl UpdateRule for MuonConfig {
    const NAME: &'static str = "Muon";
    type State = MuonState;

    fn check(&self) -> Result<()> {
        check_adam(
            Self::NAME,
            self.lr,
            self.betas,
            self.adamw_eps,
            self.weight_decay,
        )?;
        at_least_0(Self::NAME, "momentum", self.momentum)?;
        at_least_0(Self::NAME, "eps", self.eps)?;
        if self.ns_steps >= 100 {
            let problem = "must be below 100".to_owned();
            return Err(Error::argument(
                Self::NAME,
                "ns_steps",
                self.ns_steps,
                problem,
            ));
        }
        Ok(())
    }

    fn check_parameter(&self, path: &str, value: &Tensor) -> Result<()> {
        if !self.use_muon || value.rank() == 2 {
            return Ok(());
        }
        let problem = format!(
            "its shape is {}, and only matrices are moved by Muon; put it in a group with `use_muon(false)`",
            value.shape()
        );
        Err(Error::argument(Self::NAME, "parameter", path, problem))
    }

    fn check_states(&self, states: &[&MuonState]) -> Result<()> {
        let by_muon = states
            .iter()
            .filter(|state| matches!(state.0, Kept::Momentum(_)));
        let (by_muon, all) = (by_muon.count(), states.len());
        if by_muon == if self.use_muon { all } else { 0 } {
            return Ok(());
        }
        let problem = format!("the state has {by_muon} `momentum_buffer` for {all} parameters");
        Err(Error::argument(
            Self::NAME,
            "use_muon",
            self.use_muon,
            problem,
        ))
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    fn set_lr(&mut self, lr: f64) {
        self.lr = lr;
    }

    fn momentum(&self) -> Option<f64> {
        Some(if self.use_muon {
            self.momentum
        } else {
            self.betas.0
        })
    }

    fn set_momentum(&mut self, momentum: f64) {
        let own = if self.use_muon {
            &mut self.momentum
        } else {
            &mut self.betas.0
        };
        *own = momentum;
    }

    fn update(
        &self,
        value: &Tensor,
        grad: &Tensor,
        state: &mut Option<MuonState>,
    ) -> Result<Tensor> {
        match self.use_muon {
            true => self.update_matrix(value, grad, state),
            false => self.update_by_adamw(value, grad, state),
        }
    }
}

impl MuonConfig {
    fn update_matrix(
        &self,
        value: &Tensor,
        grad: &Tensor,
        state: &mut Option<MuonState>,
    ) -> Result<Tensor> {
        let last = match state {
            Some(MuonState(Kept::Momentum(momentum))) => momentum.clone(),
            _ => value.zeros_like()?,
        };
        let momentum = lerp(&last, grad, 1.0 - self.momentum)?;
        let update = match self.nesterov {
            true => self.orthogonalize(&lerp(grad, &momentum, self.momentum)?)?,
            false => self.orthogonalize(&momentum)?,
        };
        let lr = self.lr * self.lr_factor(value.size(0)? as f64, value.size(1)? as f64);
        let update = update.to_dtype(value.dtype())?;
        let step = DecayAndMove {
            lr: self.lr,
            weight_decay: self.weight_decay,
            factor: -lr,
        };
        let moved = step.apply_to(value, &update)?;
        *state = Some(MuonState(Kept::Momentum(momentum)));
        Ok(moved)
    }

    fn update_by_adamw(
        &self,
        value: &Tensor,
        grad: &Tensor,
        state: &mut Option<MuonState>,
    ) -> Result<Tensor> {
        let numbers = AdamNumbers {
            lr: self.lr,
            betas: self.betas,
            eps: self.adamw_eps,
            decay: 1.0 - self.lr * self.weight_decay,
            weight_decay: 0.0,
            maximize: false,
        };
        let mut value = value.clone();
        let mut moments = match state.take() {
            Some(MuonState(Kept::Moments(moments))) => Some(*moments),
            _ => None,
        };
        let stepped = adam_step(&mut value, grad, &mut moments, false, numbers);
        *state = moments.map(|moments| MuonState(Kept::Moments(Box::new(moments))));
        stepped.map(|()| value)
    }

    /// The Newton–Schulz iteration, on the side on which the product `X·Xᵀ` is smaller.
    fn orthogonalize(&self, grad: &Tensor) -> Result<Tensor> {
        let is_tall = grad.size(0)? > grad.size(1)?;
        // Half-precision products are summed in single precision, and each result is rounded once.
        let half = |x: Tensor| x.to_dtype(DType::BF16)?.to_dtype(DType::F32);
        let mut x = half(if is_tall { grad.t()? } else { grad.clone() })?;
        let norm = half(x.norm(2.0, ..)?)?.clamp_min(self.eps)?;
        x = half(x.div(&half(norm)?)?)?;
        let (a, b, c) = self.ns_coefficients;
        for _ in 0..self.ns_steps {
            let gram = half(x.matmul(&x.t()?)?)?;
            let polynomial = half(gram.mul(b)?.add_scaled(&gram.matmul(&gram)?, c)?)?;
            x = half(x.mul(a)?.add(&polynomial.matmul(&x)?)?)?;
        }
        if is_tall { x.t() } else { Ok(x) }
    }

    fn lr_factor(&self, rows: f64, columns: f64) -> f64 {
        match self.adjust_lr_fn {
            AdjustLr::Original => (rows / columns).max(1.0).sqrt(),
            AdjustLr::MatchRmsAdamw => 0.2 * rows.max(columns).sqrt(),
            AdjustLr::SpectralUnclamped => (rows / columns).sqrt(),
        }
    }
}
