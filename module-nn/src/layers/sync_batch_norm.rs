use std::sync::{Arc, PoisonError, RwLock};

use module_core::{Result, Tensor};

/// Batch normalization in training with the statistics of all processes: a crate for distributed training implements this,
/// for [`convert_sync_batchnorm`](super::convert_sync_batchnorm).
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use module_nn::prelude::*;
/// use module_nn::convert_sync_batchnorm;
///
/// /// One process alone.
/// struct Alone;
///
/// impl SyncBatchNorm for Alone {
///     fn batch_norm_train(
///         &self,
///         input: &Tensor,
///         weight: Option<&Tensor>,
///         bias: Option<&Tensor>,
///         eps: f64,
///     ) -> Result<(Tensor, Tensor, Tensor, usize)> {
///         let (output, mean, var) = input.batch_norm_train(weight, bias, eps)?;
///         Ok((output, mean, var, input.numel() / input.size(1)?))
///     }
/// }
///
/// let model = Sequential::new().push(Linear::new(4, 8)?).push(BatchNorm1d::new(8)?);
/// assert_eq!(convert_sync_batchnorm(&model, Some(Arc::new(Alone))), 1);
/// # Ok::<(), Error>(())
/// ```
pub trait SyncBatchNorm: Send + Sync + 'static {
    /// The normalized input of this process, the mean and the biased variance `[channels]` over
    /// the inputs of all processes, and how many values each channel has in all of them.
    ///
    /// The output carries the gradient to the input, the weight and the bias.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::batch_norm_train`], and processes that do not answer.
    fn batch_norm_train(
        &self,
        input: &Tensor,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        eps: f64,
    ) -> Result<(Tensor, Tensor, Tensor, usize)>;
}

/// The sync of a batch normalization, if any.
#[derive(Default)]
pub(super) struct SyncCell(RwLock<Option<Arc<dyn SyncBatchNorm>>>);

impl SyncCell {
    pub(super) fn get(&self) -> Option<Arc<dyn SyncBatchNorm>> {
        let sync = self.0.read().unwrap_or_else(PoisonError::into_inner);
        sync.clone()
    }

    pub(super) fn set(&self, sync: Option<Arc<dyn SyncBatchNorm>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = sync;
    }
}
