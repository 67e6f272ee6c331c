use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};

use module_core::module::Visitor;
use module_core::{
    Buffer, Call, Forward, Module, ModuleExt, Result, Tensor, Tensors, Training, no_grad,
};

use crate::layers::BatchNorm;
use crate::layers::channel_norm::ChannelNorm;

/// Gives the batch normalizations of a model the statistics of its inputs, by one pass over batches; averaged values need
/// this before they are evaluated.
///
/// The running statistics are reset and become the mean of those of the batches, regardless of the momentum; the model is
/// in training mode meanwhile, and nothing is tracked. Afterwards modes are restored. Normalizations that are
/// [frozen](module_core::ModuleExt::freeze) keep their statistics. Without a batch normalization nothing is done, and no
/// batch is taken.
///
/// The statistics are those of the model's current values. For those of an [`AveragedModel`](super::AveragedModel), call it
/// while they are swapped in, or load them into a separate model.
///
/// Source: `torch.optim.swa_utils.update_bn`.
///
/// # Errors
///
/// The first error among the batches, and those of the calls. Then the statistics are restored, as after a panic.
///
/// # Example
///
/// ```
/// use module_nn::optim::update_bn;
/// use module_nn::prelude::*;
///
/// let model = Sequential::new().push(Linear::new(2, 3)?).push(BatchNorm1d::new(3)?);
/// let mut swa = SWA::new(&model)?;
/// swa.update(&model)?;
///
/// let batches = [Tensor::randn([4, 2], DType::F32)?, Tensor::randn([4, 2], DType::F32)?];
/// swa.with_averages(&model, || {
///     update_bn(&model, batches.into_iter().map(Ok))?;
///     model.eval();
///     // … evaluate here: afterwards the model has its own values again, and its own statistics.
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub fn update_bn<M, I>(model: &M, batches: impl IntoIterator<Item = Result<I>>) -> Result<()>
where
    M: Forward<I, Output: Tensors> + ?Sized,
    I: Tensors,
{
    let Some(mut averaging) = Averaging::begin(model.as_module())? else {
        return Ok(());
    };
    for batch in batches {
        let batch = batch?;
        no_grad(|| model.call(batch))?;
    }
    averaging.is_done = true;
    Ok(())
}

/// A model whose batch normalizations average all batches, until this is dropped.
struct Averaging<'m> {
    norms: Vec<&'m AtomicBool>,
    /// The mode flags with their original modes.
    modes: Vec<(&'m Training, bool)>,
    /// The original statistics.
    kept: Vec<(&'m Buffer, Tensor)>,
    /// Whether the new statistics stay.
    is_done: bool,
}

impl<'m> Averaging<'m> {
    /// Resets the statistics and changes the modes; does nothing for a model without batch normalizations.
    fn begin(model: &'m dyn Module) -> Result<Option<Self>> {
        let norms = batch_norms(model);
        if norms.is_empty() {
            return Ok(None);
        }
        let mut kept = Vec::new();
        for (norm, _) in &norms {
            kept.extend(norm.statistics());
        }
        let mut flags = Flags(Vec::new());
        model.modules().for_each(|module| module.visit(&mut flags));
        let modes = flags.0.into_iter();
        let averaging = Self {
            kept,
            modes: modes.map(|flag| (flag, flag.is_training())).collect(),
            norms: norms
                .iter()
                .map(|(_, averages_all)| *averages_all)
                .collect(),
            is_done: false,
        };
        for (norm, averages_all) in &norms {
            norm.reset_running()?;
            averages_all.store(true, Ordering::Relaxed);
        }
        model.train();
        Ok(Some(averaging))
    }
}

impl Drop for Averaging<'_> {
    fn drop(&mut self) {
        for averages_all in &self.norms {
            averages_all.store(false, Ordering::Relaxed);
        }
        for (flag, training) in &self.modes {
            flag.set(*training);
        }
        if !self.is_done {
            for (buffer, value) in self.kept.drain(..) {
                // If the model was cast meanwhile, the statistics are cast too.
                let now = buffer.tensor();
                let cast = value.to_dtype(now.dtype());
                let _set = cast.and_then(|value| buffer.set(value.to_device(&now.device())?));
            }
        }
    }
}

/// The batch normalizations of a tree whose statistics are updated.
fn batch_norms(model: &dyn Module) -> Vec<(&ChannelNorm, &AtomicBool)> {
    let norms = model.modules().filter_map(|module| {
        let module: &dyn Any = module.as_module();
        let norm = module.downcast_ref().map(BatchNorm::<1>::averaging);
        let norm = norm.or_else(|| module.downcast_ref().map(BatchNorm::<2>::averaging));
        norm.or_else(|| module.downcast_ref().map(BatchNorm::<3>::averaging))
    });
    norms
        .filter(|(norm, _)| !norm.training.is_frozen())
        .collect()
}

/// The mode flags of a module.
struct Flags<'m>(Vec<&'m Training>);

impl<'m> Visitor<'m> for Flags<'m> {
    fn training(&mut self, flag: &'m Training) {
        self.0.push(flag);
    }
}
