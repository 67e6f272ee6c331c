use module_core::{Error, Forward, Module, Result, Tensor};

use crate::config::{Build, config};
use crate::functional;

/// The `p`-norm of `x1 - x2 + eps` over the last dimension.
///
/// # Shapes
///
/// Called with a pair of shapes that broadcast; to the broadcast shape without the last dimension, or with size 1 there if
/// `keepdim`.
///
/// # Errors
///
/// Shapes that do not broadcast, inputs that do not share one floating-point dtype.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let distance = PairwiseDistanceConfig::new().p(1.0).eps(0.0).build()?;
/// let pair = (Tensor::from([[3.0_f64, 4.0]]), Tensor::from([[1.0_f64, 1.0]]));
/// assert_eq!(distance.call(pair)?.to_vec::<f64>()?, [5.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct PairwiseDistance {
    #[module(skip)]
    config: PairwiseDistanceConfig,
}

config! {
    /// The arguments of [`PairwiseDistance`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let distance: PairwiseDistance = PairwiseDistanceConfig::new().eps(0.0).keepdim(true).build()?;
    /// let pair = (Tensor::from([[3.0_f64, 4.0]]), Tensor::from([[0.0_f64, 0.0]]));
    /// let y = distance.call(pair)?;
    /// assert_eq!((y.shape().to_string().as_str(), y.item::<f64>()?), ("[1, 1]", 5.0));
    /// # Ok::<(), Error>(())
    /// ```
    pub struct PairwiseDistanceConfig => PairwiseDistance {
        optional {
            /// The `p` of the norm.
            p: f64 = 2.0,
            /// Added to each difference, so that the gradient at 0 is defined.
            eps: f64 = 1e-6,
            /// Whether the last dimension stays, with size 1.
            keepdim: bool = false,
        }
    }
}

impl Build for PairwiseDistanceConfig {
    type Output = PairwiseDistance;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A `p` that is NaN.
    fn build(&self) -> Result<PairwiseDistance> {
        if self.p.is_nan() {
            let problem = "must be a number";
            return Err(Error::argument("PairwiseDistance", "p", self.p, problem));
        }
        Ok(PairwiseDistance {
            config: self.clone(),
        })
    }
}

impl PairwiseDistance {
    /// Makes the layer with PyTorch's defaults; [`PairwiseDistanceConfig`] has the arguments.
    pub fn new() -> Self {
        Self {
            config: PairwiseDistanceConfig::new(),
        }
    }

    /// PyTorch prints no arguments.
    fn extra_repr(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> PairwiseDistanceConfig {
        self.config.clone()
    }
}

impl Default for PairwiseDistance {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward<(Tensor, Tensor)> for PairwiseDistance {
    type Output = Tensor;

    fn forward(&self, (x1, x2): (Tensor, Tensor)) -> Result<Tensor> {
        let PairwiseDistanceConfig { p, eps, keepdim } = self.config;
        let distance = match keepdim {
            true => functional::pairwise_distance_keepdim,
            false => functional::pairwise_distance,
        };
        distance(&x1, &x2, p, eps)
    }
}
