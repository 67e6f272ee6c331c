use module_core::{Forward, Module, Result, Tensor};

use crate::config::config;
use crate::functional::pairwise_distance;

/// The length of the difference of vectors, in the last dimension: `‖x₁ - x₂ + eps‖ₚ`.
///
/// # Shapes
///
/// Two tensors `[…, features]`. The output is `[…]`, or `[…, 1]` with `keepdim`.
///
/// # Errors
///
/// Shapes that do not broadcast, different dtypes, or one that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let distance = PairwiseDistanceConfig::new().eps(0.0).build()?;
/// let d = distance.call((Tensor::from([[3.0_f32, 4.0]]), Tensor::from([[0.0_f32, 0.0]])))?;
/// assert_eq!(d.to_vec::<f32>()?, [5.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
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
    /// let distance = PairwiseDistanceConfig::new().p(1.0).build()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub struct PairwiseDistanceConfig {
        optional {
            /// Which norm.
            p: f64 = 2.0,
            /// What is added to the differences, so that no slope is infinite.
            eps: f64 = 1e-6,
            /// Whether the last dimension stays, with size 1.
            keepdim: bool = false,
        }
    }
}

impl PairwiseDistanceConfig {
    /// The layer.
    ///
    /// # Errors
    ///
    /// A `p` that is NaN.
    pub fn build(&self) -> Result<PairwiseDistance> {
        crate::config::between(
            "PairwiseDistance",
            "p",
            self.p,
            [f64::NEG_INFINITY, f64::INFINITY],
        )?;
        let config = self.clone();
        Ok(PairwiseDistance { config })
    }
}

impl PairwiseDistance {
    /// With the defaults of [`PairwiseDistanceConfig`].
    pub fn new() -> Self {
        let config = PairwiseDistanceConfig::new();
        Self { config }
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
        let &PairwiseDistanceConfig { p, eps, keepdim } = &self.config;
        pairwise_distance(&x1, &x2, p, eps, keepdim)
    }
}
