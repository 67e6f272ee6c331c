use std::fmt;

use module_core::__private::fmt_tree;
use module_core::module::{Visitor, VisitorMut};
use module_core::{
    AutocastPolicy, Buffer, Describe, Error, Field, FieldInfo, Maybe, Module, Result, ShapeError,
    Tensor, Training, no_grad,
};

use super::{Parametrization, Parametrized, WithWeight, parametrize};
use crate::config::{check_above_zero, check_positive, check_steps, config};

/// The number of steps of the first estimate.
const FIRST_ITERATIONS: usize = 15;

/// Divides a weight by its largest singular value, which is estimated by power iteration: by default, one step in each
/// training call. A one-dimensional weight is divided by its length.
///
/// Source: Miyato et al., *Spectral Normalization for Generative Adversarial Networks* (2018).
///
/// # State dict
///
/// `_u` and `_v`, buffers: estimates of the singular vectors.
///
/// # Initialization
///
/// `_u`, then `_v`: normal draws scaled to length 1, then 15 power iterations and those of one call.
///
/// # Example
///
/// ```
/// use module_nn::parametrize::{Parametrized, SpectralNorm, SpectralNormConfig, spectral_norm};
/// use module_nn::prelude::*;
///
/// // The singular values 4 and 3.
/// let linear = LinearConfig::new(2, 2).bias(false).build()?;
/// linear.weight().set(Tensor::from([[3.0_f32, 0.0], [0.0, 4.0]]))?;
/// let layer: Parametrized<Linear, SpectralNorm> = spectral_norm(linear, &SpectralNormConfig::new())?;
/// let weight = layer.weight()?.to_vec::<f32>()?;
/// assert!((weight[0] - 0.75).abs() < 1e-2 && (weight[3] - 1.0).abs() < 1e-2);
/// # Ok::<(), Error>(())
/// ```
pub struct SpectralNorm {
    config: SpectralNormConfig,
    u: Maybe<Buffer>,
    v: Maybe<Buffer>,
    training: Training,
}

config! {
    /// The arguments of [`spectral_norm`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::parametrize::{SpectralNormConfig, spectral_norm};
    /// use module_nn::prelude::*;
    ///
    /// let config = SpectralNormConfig::new().n_power_iterations(2).eps(1e-6).dim(1);
    /// let layer = spectral_norm(Linear::new(3, 2)?, &config)?;
    /// // One number for each index of that dimension.
    /// assert_eq!(layer.get_buffer("parametrizations.weight.0._u")?.tensor().numel(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct SpectralNormConfig {
        optional {
            /// The number of power iterations per training call.
            n_power_iterations: usize = 1_usize,
            /// The lower bound of each norm, which avoids a division by zero.
            eps: f64 = 1e-12,
            /// The dimension of the outputs; 1 for transposed convolutions.
            dim: usize = 0_usize,
        }
    }
}

/// The layer with a [`SpectralNorm`].
///
/// # Errors
///
/// Zero steps, an `eps` that is not above 0, a dimension that the weight does not have.
///
/// # Example
///
/// ```
/// use module_nn::parametrize::{SpectralNormConfig, spectral_norm};
/// use module_nn::prelude::*;
///
/// let layer = spectral_norm(Linear::new(3, 2)?, &SpectralNormConfig::new())?;
/// let keys = [
///     "bias",
///     "parametrizations.weight.original",
///     "parametrizations.weight.0._u",
///     "parametrizations.weight.0._v",
/// ];
/// assert_eq!(layer.state_dict()?.keys().collect::<Vec<_>>(), keys);
/// # Ok::<(), Error>(())
/// ```
pub fn spectral_norm<I, L: WithWeight<I>>(
    layer: L,
    config: &SpectralNormConfig,
) -> Result<Parametrized<L, SpectralNorm>> {
    let norm = SpectralNorm::of(&layer.own_weight().detach(), config)?;
    parametrize(layer, norm)
}

impl SpectralNorm {
    /// The arguments that it was built from.
    pub fn config(&self) -> SpectralNormConfig {
        self.config.clone()
    }

    fn of(weight: &Tensor, config: &SpectralNormConfig) -> Result<Self> {
        const NAME: &str = "spectral_norm";
        let &SpectralNormConfig {
            n_power_iterations,
            eps,
            dim,
        } = config;
        check_positive(NAME, "n_power_iterations", n_power_iterations)?;
        check_steps(NAME, "n_power_iterations", n_power_iterations)?;
        check_above_zero(NAME, "eps", eps)?;
        if dim >= weight.rank() {
            let dim = isize::try_from(dim).unwrap_or(isize::MAX);
            let shape = weight.shape().clone();
            return Err(ShapeError::Dimension {
                op: NAME,
                dim,
                shape,
            }
            .into());
        }
        let norm = Self {
            config: config.clone(),
            u: Maybe::Absent,
            v: Maybe::Absent,
            training: Training::new(),
        };
        if weight.rank() == 1 {
            return Ok(norm);
        }
        let matrix = norm.matrix(weight)?;
        let drawn = |size: usize| normalize_vector(&Tensor::randn(size, weight.dtype())?, eps);
        let u = drawn(matrix.size(0)?)?.to_device(&weight.device())?;
        let v = drawn(matrix.size(1)?)?.to_device(&weight.device())?;
        let (u, v) = iterate(&matrix, u, v, FIRST_ITERATIONS, eps)?;
        Ok(Self {
            u: Buffer::new(u).into(),
            v: Buffer::new(v).into(),
            ..norm
        })
    }

    /// The weight as a matrix whose rows are the outputs.
    fn matrix(&self, weight: &Tensor) -> Result<Tensor> {
        weight.movedim(self.config.dim, 0)?.flatten(1, -1)
    }
}

/// A vector of length 1, or shorter if its length is below `eps`.
fn normalize_vector(x: &Tensor, eps: f64) -> Result<Tensor> {
    x.div(&x.norm(2.0, ..)?.clamp_min(eps)?)
}

/// Both vectors after some power iterations.
fn iterate(
    matrix: &Tensor,
    mut u: Tensor,
    mut v: Tensor,
    steps: usize,
    eps: f64,
) -> Result<(Tensor, Tensor)> {
    let turned = matrix.t()?;
    for _ in 0..steps {
        u = normalize_vector(&matrix.matmul(&v)?, eps)?;
        v = normalize_vector(&turned.matmul(&u)?, eps)?;
    }
    Ok((u, v))
}

impl Parametrization for SpectralNorm {
    fn compute(&self, originals: &[Tensor]) -> Result<Tensor> {
        let [weight] = originals else {
            let problem = "one original is needed";
            return Err(Error::argument(
                "spectral_norm",
                "originals",
                originals.len(),
                problem,
            ));
        };
        // Products with vectors, which PyTorch's autocast leaves in their dtype.
        let compute = |[weight]: [&Tensor; 1], []: [Option<&Tensor>; 0]| {
            self.compute(std::slice::from_ref(weight))
        };
        if let Some(out) = AutocastPolicy::Unchanged.apply([weight], [], compute) {
            return out;
        }
        let eps = self.config.eps;
        let (Some(u), Some(v)) = (self.u.get(), self.v.get()) else {
            return normalize_vector(weight, eps);
        };
        let matrix = self.matrix(weight)?;
        if self.training.is_training() {
            let steps = self.config.n_power_iterations;
            let (u_now, v_now) =
                no_grad(|| iterate(&matrix.detach(), u.tensor(), v.tensor(), steps, eps))?;
            u.set(u_now)?;
            v.set(v_now)?;
        }
        let sigma = u.tensor().dot(&matrix.matmul(&v.tensor())?)?;
        weight.div(&sigma)
    }
}

/// Written by hand, because PyTorch prints another name, and no arguments.
impl Module for SpectralNorm {
    fn kind(&self) -> &'static str {
        "_SpectralNorm"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        self.u.visit_field("_u", visitor);
        self.v.visit_field("_v", visitor);
        self.training.visit_field("training", visitor);
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        self.u.visit_field_mut("_u", visitor);
        self.v.visit_field_mut("_v", visitor);
    }
}

impl fmt::Debug for SpectralNorm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_tree(self, f)
    }
}

impl Describe for SpectralNorm {
    const FIELDS: &'static [FieldInfo] = &[];
}
