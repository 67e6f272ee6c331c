use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};
use crate::functional::{Reduction, cosine_embedding_loss};
use crate::loss::defaults;

/// Pulls vectors together if the target is 1, by `1 - cos(x₁, x₂)`, and pushes them apart if it is -1, by
/// `max(0, cos(x₁, x₂) - margin)`.
///
/// # Shapes
///
/// Three tensors: two of vectors `[batch, features]` and a target `[batch]`, or `[features]` and `[]`. The output has no
/// dimensions, or those of the target with [`Reduction::None`].
///
/// # Errors
///
/// Other shapes, even if they would broadcast; different dtypes of the inputs, or one that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = CosineEmbeddingLoss::new();
/// let (a, b) = (Tensor::from([[1.0_f32, 0.0]]), Tensor::from([[0.0_f32, 2.0]]));
/// assert_eq!(criterion.call((a, b, Tensor::from([1_i64])))?.item::<f32>()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct CosineEmbeddingLoss {
    #[module(skip)]
    config: CosineEmbeddingLossConfig,
}

config! {
    /// The arguments of [`CosineEmbeddingLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = CosineEmbeddingLossConfig::new().margin(0.5).build()?;
    /// assert_eq!(criterion.config().margin, 0.5);
    /// // Two vectors that should be alike and are not, and two that should differ by more than the margin and do not.
    /// let criterion = CosineEmbeddingLossConfig::new().margin(0.5).reduction(Reduction::None).build()?;
    /// let (a, b) = (Tensor::from([[1.0_f32, 0.0], [1.0, 0.0]]), Tensor::from([[0.0_f32, 1.0], [1.0, 0.0]]));
    /// let losses = criterion.call((a, b, Tensor::from([1_i64, -1])))?.to_vec::<f32>()?;
    /// assert!((losses[0] - 1.0).abs() < 1e-6 && (losses[1] - 0.5).abs() < 1e-6);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct CosineEmbeddingLossConfig => CosineEmbeddingLoss {
        optional {
            /// The cosine allowed between vectors to be separated, from -1 to 1.
            margin: f64 = 0.0,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for CosineEmbeddingLossConfig {
    type Output = CosineEmbeddingLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// None.
    fn build(&self) -> Result<CosineEmbeddingLoss> {
        Ok(CosineEmbeddingLoss::of(self))
    }
}

defaults!(CosineEmbeddingLoss, CosineEmbeddingLossConfig);

impl CosineEmbeddingLoss {
    fn of(config: &CosineEmbeddingLossConfig) -> Self {
        let config = config.clone();
        Self { config }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> CosineEmbeddingLossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor, Tensor)> for CosineEmbeddingLoss {
    type Output = Tensor;

    fn forward(&self, (input1, input2, target): (Tensor, Tensor, Tensor)) -> Result<Tensor> {
        cosine_embedding_loss(
            &input1,
            &input2,
            &target,
            self.config.margin,
            self.config.reduction,
        )
    }
}
