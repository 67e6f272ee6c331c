use std::sync::Arc;

use module_nn::{Backward, Function, Gradients, Result, Tensor};

use super::{Comm, ReduceOp};

/// The sum over all ranks with a gradient: that of the sum of all ranks' losses, so that the backward pass is a sum too.
///
/// All ranks must reach this operation in the same order in the backward pass.
///
/// # Errors
///
/// Those of [`Comm::all_reduce`].
///
/// # Example
///
/// ```
/// use module_dist::{LocalComm, comm::differentiable_all_reduce};
/// use module_nn::prelude::*;
///
/// let slopes = LocalComm::run(2, |comm| {
///     let x = Tensor::from(3.0_f32).with_grad()?;
///     let total = differentiable_all_reduce(&comm, &x)?;
///     // The losses are `total` and `2 · total`.
///     total.mul(1.0 + comm.rank() as f64)?.backward()?;
///     x.grad().map_or(Ok(0.0), |grad| grad.item::<f32>())
/// })?;
/// assert_eq!(slopes, [3.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn differentiable_all_reduce(comm: &Arc<dyn Comm>, tensor: &Tensor) -> Result<Tensor> {
    let total = comm.all_reduce(tensor, ReduceOp::Sum)?;
    Ok(total.record([tensor], |_| AllReduce { comm: comm.clone() }))
}

struct AllReduce {
    comm: Arc<dyn Comm>,
}

impl Function for AllReduce {
    fn name(&self) -> &'static str {
        "all_reduce"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let total = differentiable_all_reduce(&self.comm, ctx.grad())?;
        Ok([Some(total)].into_iter().collect())
    }

    fn saves_nothing(&self) -> bool {
        true
    }
}
