use std::sync::Arc;

use module_nn::{Module, Result};

use super::{AllReduceGradients, DataParallel, GradientHook};
use crate::Comm;

/// The arguments of [`DataParallel`].
#[derive(Clone)]
pub struct DataParallelConfig {
    pub(super) bucket_bytes: usize,
    pub(super) first_bucket_bytes: usize,
    pub(super) find_unused_parameters: bool,
    pub(super) broadcast_buffers: bool,
    pub(super) check_finite: bool,
    pub(super) check_every: u64,
    pub(super) divide_by_active_ranks: bool,
    pub(super) hook: Arc<dyn GradientHook>,
}

impl Default for DataParallelConfig {
    fn default() -> Self {
        Self {
            bucket_bytes: 25 << 20,
            first_bucket_bytes: 1 << 20,
            find_unused_parameters: false,
            broadcast_buffers: true,
            check_finite: true,
            check_every: 100,
            divide_by_active_ranks: false,
            hook: Arc::new(AllReduceGradients),
        }
    }
}

impl DataParallelConfig {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The size from which a bucket is full; default 25 MB.
    #[must_use]
    pub fn bucket_bytes(mut self, bytes: usize) -> Self {
        self.bucket_bytes = bytes;
        self
    }

    /// The size from which the bucket that is sent first is full: small, so that sending begins early; default 1 MB.
    #[must_use]
    pub fn first_bucket_bytes(mut self, bytes: usize) -> Self {
        self.first_bucket_bytes = bytes;
        self
    }

    /// Whether a loss may leave out parameters; default `false`, which makes it an error that names them. If no rank used a
    /// parameter, its gradient stays as it was; otherwise ranks that did not use it contribute 0.
    #[must_use]
    pub fn find_unused_parameters(mut self, find: bool) -> Self {
        self.find_unused_parameters = find;
        self
    }

    /// Whether buffers get the values of rank 0 after each averaged pass; default `true`.
    #[must_use]
    pub fn broadcast_buffers(mut self, broadcast: bool) -> Self {
        self.broadcast_buffers = broadcast;
        self
    }

    /// Whether gradients that are infinite or NaN end the run, with an error that names the rank and the parameter; default
    /// `true`. A `GradScaler` expects such gradients: set it to `false` there.
    #[must_use]
    pub fn check_finite(mut self, check: bool) -> Self {
        self.check_finite = check;
        self
    }

    /// The number of averaged passes after which checksums of the parameters are compared, or 0 for never; default 100.
    #[must_use]
    pub fn check_every(mut self, steps: u64) -> Self {
        self.check_every = steps;
        self
    }

    /// Whether, in [`join`](DataParallel::join), gradients are averaged over the ranks that still have items instead of all
    /// ranks; default `false`.
    #[must_use]
    pub fn divide_by_active_ranks(mut self, divide: bool) -> Self {
        self.divide_by_active_ranks = divide;
        self
    }

    /// How a bucket is averaged: PyTorch's `register_comm_hook`; default [`AllReduceGradients`].
    #[must_use]
    pub fn hook(mut self, hook: impl GradientHook) -> Self {
        self.hook = Arc::new(hook);
        self
    }

    /// Starts averaging the gradients of a model. It is a collective.
    ///
    /// # Errors
    ///
    /// Those of [`DataParallel::new`].
    pub fn build(self, model: &dyn Module, comm: Arc<dyn Comm>) -> Result<DataParallel> {
        DataParallel::build(model, comm, self)
    }
}
