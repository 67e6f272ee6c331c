use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, check_between, config};
use crate::functional;

/// The cosine of the angle between vectors along a dimension:
/// `x1·x2 / (max(‖x1‖, eps) · max(‖x2‖, eps))`.
///
/// # Shapes
///
/// Called with a pair of shapes that broadcast; to the broadcast shape without `dim`.
///
/// # Errors
///
/// Shapes that do not broadcast, a dimension that is out of range, inputs that do not share one
/// floating-point dtype.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pair = (Tensor::from([[3.0_f64, 4.0]]), Tensor::from([[6.0_f64, 8.0]]));
/// assert_eq!(CosineSimilarity::new().call(pair)?.to_vec::<f64>()?, [1.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct CosineSimilarity {
    dim: isize,
    eps: f64,
}

config! {
    /// The arguments of [`CosineSimilarity`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let similarity = CosineSimilarityConfig::new().dim(0).eps(1e-6).build()?;
    /// let pair = (Tensor::from([3.0_f64, 4.0]), Tensor::from([4.0_f64, -3.0]));
    /// assert_eq!(similarity.call(pair)?.item::<f64>()?, 0.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct CosineSimilarityConfig => CosineSimilarity {
        optional {
            /// The dimension of the vectors; a negative one counts from the end.
            dim: isize = 1,
            /// The lower bound of the norms in the divisor.
            eps: f64 = 1e-8,
        }
    }
}

impl Build for CosineSimilarityConfig {
    type Output = CosineSimilarity;

    /// The layer.
    ///
    /// # Errors
    ///
    /// An `eps` below 0.
    fn build(&self) -> Result<CosineSimilarity> {
        let &Self { dim, eps } = self;
        check_between("CosineSimilarity", "eps", eps, [0.0, f64::INFINITY])?;
        Ok(CosineSimilarity { dim, eps })
    }
}

impl CosineSimilarity {
    /// Makes the layer with PyTorch's defaults; [`CosineSimilarityConfig`] has the arguments.
    pub fn new() -> Self {
        let (dim, eps) = (1, 1e-8);
        Self { dim, eps }
    }

    /// PyTorch prints no arguments.
    fn extra_repr(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> CosineSimilarityConfig {
        CosineSimilarityConfig {
            dim: self.dim,
            eps: self.eps,
        }
    }
}

impl Default for CosineSimilarity {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward<(Tensor, Tensor)> for CosineSimilarity {
    type Output = Tensor;

    fn forward(&self, (x1, x2): (Tensor, Tensor)) -> Result<Tensor> {
        functional::cosine_similarity(&x1, &x2, self.dim, self.eps)
    }
}
