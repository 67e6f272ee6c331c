use std::fmt;

use module_core::{ErrorKind, Forward, Module, Result, Tensor};

use super::batch_norm::{BatchNorm, BatchNorm1dConfig};
use super::sync_batch_norm::Sync;

/// Batch normalisation of each channel: `y = (x - E[x]) / √(Var[x] + eps) · weight + bias`.
///
/// In training the statistics are the batch's, with the biased variance, and move the running
/// ones, with the unbiased variance; in evaluation they are the running ones.
///
/// Source: Ioffe and Szegedy, *Batch Normalization: Accelerating Deep Network Training by Reducing
/// Internal Covariate Shift* (2015).
///
/// # Shapes
///
/// `[batch, channels]` or `[batch, channels, length]` to the same.
///
/// # State dict
///
/// `weight`, `bias`, `running_mean`, `running_var`, all `[channels]`, and `num_batches_tracked`,
/// an `I64` without dimensions; less what the configuration leaves out.
///
/// # Initialisation
///
/// Weight and running variance 1, bias and running mean 0, without a draw.
///
/// # Errors
///
/// Another number of dimensions or channels; in training, a single value per channel, whose
/// variance is 0.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = BatchNorm1d::new(8)?;
/// let y = norm.call(Tensor::randn([4, 8], DType::F32)?)?;
/// assert!(y.mean(.., false)?.item::<f32>()?.abs() < 1e-5);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(extra_repr = Self::extra_repr)]
pub struct BatchNorm1d {
    #[module(flatten)]
    norm: BatchNorm,
}

impl BatchNorm1d {
    /// With PyTorch's defaults; [`BatchNorm1dConfig`] has the other arguments.
    ///
    /// # Errors
    ///
    /// No channels.
    pub fn new(num_features: usize) -> Result<Self> {
        BatchNorm1dConfig::new(num_features).build()
    }

    pub(super) fn from_norm(norm: BatchNorm) -> Self {
        Self { norm }
    }

    pub(super) fn sync(&self) -> &Sync {
        &self.norm.sync
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.norm.extra_repr(f)
    }
}

impl Forward for BatchNorm1d {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        if !matches!(input.rank(), 2 | 3) {
            let expected = "[batch, channels] or [batch, channels, length]".to_owned();
            let got = input.shape().clone();
            return Err(ErrorKind::Shape {
                op: "batch_norm",
                expected,
                got,
            }
            .into());
        }
        self.norm.forward(&input)
    }
}
