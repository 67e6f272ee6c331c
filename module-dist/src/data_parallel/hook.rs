use module_nn::{Result, Tensor};

use crate::{Comm, ReduceOp, Work};

/// The gradients of one bucket on this rank.
pub struct GradBucket {
    /// The number of the bucket; 0 is sent first.
    pub index: usize,
    /// The gradients of all its parameters in one vector.
    pub gradients: Tensor,
}

/// How the gradients of a bucket are averaged over the ranks: PyTorch's communication hook.
///
/// All ranks must use the same one, and must get the same bits from it.
///
/// # Example
///
/// ```
/// use module_dist::{AllReduceGradients, Comm, GradBucket, GradientHook, Work};
/// use module_nn::prelude::*;
///
/// struct Clipped(f64);
///
/// impl GradientHook for Clipped {
///     fn start(&self, bucket: GradBucket, comm: &dyn Comm) -> Result<Work<Tensor>> {
///         let limit = self.0;
///         let average = AllReduceGradients.start(bucket, comm)?;
///         Ok(average.map(move |average| average.clamp(-limit, limit)))
///     }
/// }
/// ```
pub trait GradientHook: Send + Sync + 'static {
    /// Starts to average a bucket. The work's result has the shape and the dtype of the gradients.
    ///
    /// # Errors
    ///
    /// Those of the collectives.
    fn start(&self, bucket: GradBucket, comm: &dyn Comm) -> Result<Work<Tensor>>;
}

impl GradientHook for Box<dyn GradientHook> {
    fn start(&self, bucket: GradBucket, comm: &dyn Comm) -> Result<Work<Tensor>> {
        (**self).start(bucket, comm)
    }
}

/// Averages gradients in their own dtype.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllReduceGradients;

impl GradientHook for AllReduceGradients {
    fn start(&self, bucket: GradBucket, comm: &dyn Comm) -> Result<Work<Tensor>> {
        comm.start_all_reduce(&bucket.gradients, ReduceOp::Mean)
    }
}
