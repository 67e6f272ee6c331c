use std::any::Any;
use std::sync::{Arc, PoisonError, RwLock};

use module_core::{Module, ModuleExt, Result, Tensor};

use super::{BatchNorm1d, BatchNorm2d, BatchNorm3d};

/// Batch normalisation in training by the statistics of all processes: what a crate for
/// distributed training implements, for [`convert_sync_batchnorm`].
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
/// let model = Sequential::new().push(Linear::new(4, 8)?)?.push(BatchNorm1d::new(8)?)?;
/// assert_eq!(convert_sync_batchnorm(&model, Some(Arc::new(Alone))), 1);
/// # Ok::<(), Error>(())
/// ```
pub trait SyncBatchNorm: Send + std::marker::Sync + 'static {
    /// The normalised input of this process, the mean and the biased variance `[channels]` over
    /// the inputs of all processes, and how many values each channel has in all of them.
    ///
    /// The output carries the gradient to the input, the weight and the bias.
    ///
    /// # Errors
    ///
    /// As [`Tensor::batch_norm_train`], and processes that do not answer.
    fn batch_norm_train(
        &self,
        input: &Tensor,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        eps: f64,
    ) -> Result<(Tensor, Tensor, Tensor, usize)>;
}

/// Lets every batch normalisation of a module compute its statistics by `sync` in training, or by
/// its own batch again if there is none; returns how many there are.
///
/// PyTorch's `SyncBatchNorm.convert_sync_batchnorm` puts other layers in their place. Here they
/// stay what they are, and so do their keys.
pub fn convert_sync_batchnorm(module: &dyn Module, sync: Option<Arc<dyn SyncBatchNorm>>) -> usize {
    let norms = module.modules().filter_map(|module| {
        let module: &dyn Any = module.as_module();
        let norm = module.downcast_ref().map(BatchNorm1d::sync);
        let norm = norm.or_else(|| module.downcast_ref().map(BatchNorm2d::sync));
        norm.or_else(|| module.downcast_ref().map(BatchNorm3d::sync))
    });
    norms.map(|norm| norm.set(sync.clone())).count()
}

/// What a batch normalisation holds of it.
#[derive(Default)]
pub(super) struct Sync(RwLock<Option<Arc<dyn SyncBatchNorm>>>);

impl Sync {
    pub(super) fn get(&self) -> Option<Arc<dyn SyncBatchNorm>> {
        let sync = self.0.read().unwrap_or_else(PoisonError::into_inner);
        sync.clone()
    }

    fn set(&self, sync: Option<Arc<dyn SyncBatchNorm>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = sync;
    }
}
