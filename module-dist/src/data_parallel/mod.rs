//! Data-parallel training: copies of one model, each with a part of the batch.

mod buckets;
mod compression;
mod config;
mod hook;
mod join;
mod model;
mod pass;
mod reducer;
mod unused;
mod watch;

use std::sync::Arc;

use module_nn::{Module, PostAccumulateHookHandle, Result, Tensor};

pub use compression::{Bf16Compression, F16Compression, TopKCompression};
pub use config::DataParallelConfig;
pub use hook::{AllReduceGradients, GradBucket, GradientHook};
pub(crate) use model::check_same;
pub use watch::check_parameters;

use crate::Comm;
use reducer::Reducer;

/// Averages the gradients of a model over all ranks in every backward pass: PyTorch's `DistributedDataParallel`.
///
/// It wraps nothing: the model is called, saved and optimized as before, and its keys stay the same. Building it checks that
/// all ranks have the same model (names, shapes and dtypes), and gives them the parameters and buffers of rank 0.
///
/// Gradients are collected in buckets, in the reverse order of the parameters. As soon as the backward pass has completed
/// the gradients of a bucket, they are sent while the pass goes on. After the pass, the gradients are views of the averaged
/// buckets. Call [`backward`](Self::backward) instead of the loss's own method: it also finds parameters that the loss does
/// not depend on, whose gradients nobody would send.
///
/// Buffers are given the values of rank 0 after each pass.
///
/// # Example
///
/// ```
/// use module_dist::{Comm, DataParallel, LocalComm};
/// use module_nn::prelude::*;
///
/// let grads = LocalComm::run(2, |comm| {
///     let model = Linear::new(1, 1)?;
///     let parallel = DataParallel::new(&model, comm.clone())?;
///     let x = Tensor::from([[comm.rank() as f32]]);
///     parallel.backward(&model.call(x)?.sum(..)?)?;
///     model.weight().grad().map_or(Ok(f32::NAN), |grad| grad.item())
/// })?;
/// assert_eq!(grads, [0.5, 0.5]);
/// # Ok::<(), Error>(())
/// ```
pub struct DataParallel {
    reducer: Arc<Reducer>,
    _hooks: Vec<PostAccumulateHookHandle>,
}

impl DataParallel {
    /// Prepares a model for training on all ranks, with PyTorch's defaults.
    ///
    /// # Errors
    ///
    /// Different models on the ranks; a model without trained parameters; another [`RankFailure`](crate::RankFailure).
    pub fn new(model: &dyn Module, comm: Arc<dyn Comm>) -> Result<Self> {
        DataParallelConfig::new().build(model, comm)
    }

    fn build(model: &dyn Module, comm: Arc<dyn Comm>, config: DataParallelConfig) -> Result<Self> {
        check_same(model, &*comm, "DataParallel")?;
        model::broadcast(model, &*comm, 0)?;
        let reducer = Arc::new(Reducer::new(model, comm, config)?);
        let hooks = reducer.parameters().enumerate().map(|(i, parameter)| {
            // The parameter owns the hook, and the reducer the parameter.
            let reducer = Arc::downgrade(&reducer);
            parameter.register_post_accumulate_grad_hook(move |_| match reducer.upgrade() {
                Some(reducer) => reducer.gradient_is_ready(i),
                None => Ok(()),
            })
        });
        let hooks = hooks.collect();
        Ok(Self {
            reducer,
            _hooks: hooks,
        })
    }

    /// The communicator.
    pub fn comm(&self) -> &Arc<dyn Comm> {
        self.reducer.comm()
    }

    /// Computes the gradients of this rank's loss, and averages them over all ranks.
    ///
    /// With [`no_sync`](Self::no_sync) around it, the gradients of this rank are only accumulated.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::backward`]; parameters that the loss does not depend on, unless
    /// [`find_unused_parameters`](DataParallelConfig::find_unused_parameters) allows them; a
    /// [`RankFailure`](crate::RankFailure).
    pub fn backward(&self, loss: &Tensor) -> Result<()> {
        self.reducer.backward(loss)
    }

    /// Runs `body` without averaging: backward passes in it accumulate this rank's gradients, and the next pass outside
    /// averages the sums.
    ///
    /// # Example
    ///
    /// ```
    /// use module_dist::{Comm, DataParallel, LocalComm};
    /// use module_nn::prelude::*;
    ///
    /// let grads = LocalComm::run(2, |comm| {
    ///     let model = Linear::new(1, 1)?;
    ///     let parallel = DataParallel::new(&model, comm.clone())?;
    ///     let loss = || model.call(Tensor::from([[comm.rank() as f32]]))?.sum(..);
    ///     parallel.no_sync(|| parallel.backward(&loss()?))?;
    ///     parallel.backward(&loss()?)?;
    ///     model.weight().grad().map_or(Ok(f32::NAN), |grad| grad.item())
    /// })?;
    /// assert_eq!(grads, [1.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn no_sync<R>(&self, body: impl FnOnce() -> R) -> R {
        self.reducer.no_sync(body)
    }

    /// Runs `step` for each item of this rank, and then takes part in the passes of the ranks that have more items:
    /// PyTorch's `join`.
    ///
    /// `step` is called with each item, and must run one averaged [`backward`](Self::backward) in it. Once this rank has no
    /// more items, and as long as another rank has some, `step` is called with `None`, after this rank has taken part in
    /// the others' pass with gradients of zero: then the averages are in place, and the optimizer must take its step, so
    /// that the model and the optimizer stay the same on all ranks. Drop old gradients only if there is an item.
    ///
    /// The averages are over all ranks, or with
    /// [`divide_by_active_ranks`](DataParallelConfig::divide_by_active_ranks) over those with an item. Forward passes that
    /// communicate, such as those of [`DistributedBatchNorm`](crate::DistributedBatchNorm), are not possible.
    ///
    /// # Errors
    ///
    /// Those of `step`; a [`RankFailure`](crate::RankFailure).
    ///
    /// # Example
    ///
    /// ```
    /// use module_dist::{Comm, DataParallel, LocalComm};
    /// use module_nn::prelude::*;
    ///
    /// let steps = LocalComm::run(2, |comm| {
    ///     let model = Linear::new(1, 1)?;
    ///     let parallel = DataParallel::new(&model, comm.clone())?;
    ///     let mut optimizer = SGDConfig::new(0.1).build(&model)?;
    ///     let mut steps = 0;
    ///     // Rank 0 has one batch, rank 1 two.
    ///     let batches = (0..=comm.rank()).map(|i| Tensor::from([[i as f32]]));
    ///     parallel.join(batches, |batch| {
    ///         if let Some(batch) = batch {
    ///             model.zero_grad();
    ///             parallel.backward(&model.call(batch)?.sum(..)?)?;
    ///         }
    ///         steps += 1;
    ///         optimizer.step(&model)
    ///     })?;
    ///     Ok(steps)
    /// })?;
    /// assert_eq!(steps, [2, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn join<T>(
        &self,
        items: impl IntoIterator<Item = T>,
        step: impl FnMut(Option<T>) -> Result<()>,
    ) -> Result<()> {
        self.reducer.join(items, step)
    }

    /// The number of averaged passes so far.
    pub fn steps(&self) -> u64 {
        self.reducer.steps()
    }

    /// Sets the number of averaged passes, from which failures are counted, when training resumes.
    pub fn set_steps(&self, steps: u64) {
        self.reducer.set_steps(steps);
    }
}
