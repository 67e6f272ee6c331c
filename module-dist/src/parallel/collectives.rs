//! Collectives with gradients. Each is the gradient of another one, so that gradients of any order exist.

use std::sync::Arc;

use module_nn::{Backward, Function, Gradients, Result, Tensor};

use super::ParallelError;
use crate::{Comm, ReduceOp};

/// The tensor itself, which is the same on all ranks and enters a computation that is divided among them; its gradient is
/// the sum of the ranks' gradients.
///
/// It is Megatron's `f`: the input of a layer whose weight is divided by columns.
///
/// Source: Shoeybi et al., *Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism* (2019).
///
/// # Errors
///
/// In the backward pass those of [`Comm::all_reduce`].
///
/// # Example
///
/// ```
/// use module_dist::LocalComm;
/// use module_dist::parallel::copy_to_ranks;
/// use module_nn::prelude::*;
///
/// let grads = LocalComm::run(2, |comm| {
///     let x = Tensor::from([3.0_f32]).with_grad()?;
///     copy_to_ranks(&x, &comm)?.mul(1.0 + comm.rank() as f64)?.sum(..)?.backward()?;
///     x.grad().map(|grad| grad.item::<f32>()).transpose()
/// })?;
/// assert_eq!(grads, [Some(3.0); 2]);
/// # Ok::<(), Error>(())
/// ```
pub fn copy_to_ranks(x: &Tensor, comm: &Arc<dyn Comm>) -> Result<Tensor> {
    let function = |_: &Tensor| CopyToRanks { comm: comm.clone() };
    Ok(x.detach().record([x], function))
}

/// The sum of the ranks' tensors, on every rank; its gradient goes to each of them unchanged.
///
/// It is Megatron's `g`: the output of a layer whose weight is divided by rows. What is computed from the sum must be the
/// same on all ranks.
///
/// # Errors
///
/// Those of [`Comm::all_reduce`].
///
/// # Example
///
/// ```
/// use module_dist::LocalComm;
/// use module_dist::parallel::reduce_from_ranks;
/// use module_nn::prelude::*;
///
/// let sums = LocalComm::run(2, |comm| {
///     let x = Tensor::from([1.0_f32 + comm.rank() as f32]).with_grad()?;
///     let sum = reduce_from_ranks(&x, &comm)?;
///     sum.mul(5.0)?.sum(..)?.backward()?;
///     Ok((sum.item::<f32>()?, x.grad().map(|grad| grad.item::<f32>()).transpose()?))
/// })?;
/// assert_eq!(sums, [(3.0, Some(5.0)); 2]);
/// # Ok::<(), Error>(())
/// ```
pub fn reduce_from_ranks(x: &Tensor, comm: &Arc<dyn Comm>) -> Result<Tensor> {
    let sum = comm.all_reduce(x, ReduceOp::Sum)?;
    Ok(sum.record([x], |_| ReduceFromRanks { comm: comm.clone() }))
}

/// This rank's part along `dim` of a tensor that is the same on all ranks; its gradient is joined from those of all parts.
///
/// # Errors
///
/// [`ParallelError::NotDivisible`]; a dimension that the tensor does not have. In the backward pass those of
/// [`Comm::all_gather`].
///
/// # Example
///
/// ```
/// use module_dist::LocalComm;
/// use module_dist::parallel::scatter_to_ranks;
/// use module_nn::prelude::*;
///
/// let parts = LocalComm::run(2, |comm| {
///     let x = Tensor::from([[1.0_f32, 2.0, 3.0, 4.0]]);
///     scatter_to_ranks(&x, -1, &comm)?.to_vec::<f32>()
/// })?;
/// assert_eq!(parts, [[1.0, 2.0], [3.0, 4.0]]);
/// # Ok::<(), Error>(())
/// ```
pub fn scatter_to_ranks(x: &Tensor, dim: isize, comm: &Arc<dyn Comm>) -> Result<Tensor> {
    let part = own_part("scatter_to_ranks", "size", &x.detach(), dim, &**comm)?;
    let function = |_: &Tensor| ScatterToRanks {
        dim,
        comm: comm.clone(),
    };
    Ok(part.record([x], function))
}

/// The ranks' parts, joined along `dim` on every rank; the gradient of each part is the one of its elements.
///
/// All ranks must compute the same from the joined tensor.
///
/// # Errors
///
/// Those of [`Comm::all_gather`]; parts that do not fit together.
///
/// # Example
///
/// ```
/// use module_dist::LocalComm;
/// use module_dist::parallel::gather_from_ranks;
/// use module_nn::prelude::*;
///
/// let joined = LocalComm::run(2, |comm| {
///     let x = Tensor::from([[comm.rank() as f32]]);
///     gather_from_ranks(&x, -1, &comm)?.to_vec::<f32>()
/// })?;
/// assert_eq!(joined, [[0.0, 1.0], [0.0, 1.0]]);
/// # Ok::<(), Error>(())
/// ```
pub fn gather_from_ranks(x: &Tensor, dim: isize, comm: &Arc<dyn Comm>) -> Result<Tensor> {
    let joined = Tensor::cat(&comm.all_gather(x)?, dim)?;
    let function = |_: &Tensor| GatherFromRanks {
        dim,
        comm: comm.clone(),
    };
    Ok(joined.record([x], function))
}

/// This rank's part of a tensor, with memory of its own.
pub(super) fn own_part(
    op: &'static str,
    what: &'static str,
    x: &Tensor,
    dim: isize,
    comm: &dyn Comm,
) -> Result<Tensor> {
    let part = part_size(op, what, x.size(dim)?, comm)?;
    let start = comm.rank() * part;
    let own = x.narrow(dim, start..start + part)?;
    // Joined with nothing, because a view would keep the memory of the whole tensor.
    Tensor::cat(&[&own, &own.narrow(dim, 0..0)?], dim)
}

/// The size of each rank's part.
pub(super) fn part_size(
    op: &'static str,
    what: &'static str,
    size: usize,
    comm: &dyn Comm,
) -> Result<usize> {
    let (rank, parts) = (comm.rank(), comm.size());
    match size % parts {
        0 => Ok(size / parts),
        _ => Err(ParallelError::NotDivisible {
            rank,
            op,
            what,
            size,
            parts,
        }
        .into()),
    }
}

struct CopyToRanks {
    comm: Arc<dyn Comm>,
}

impl Function for CopyToRanks {
    fn name(&self) -> &'static str {
        "copy_to_ranks"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(reduce_from_ranks(ctx.grad(), &self.comm)?)
    }

    fn saves_nothing(&self) -> bool {
        true
    }
}

struct ReduceFromRanks {
    comm: Arc<dyn Comm>,
}

impl Function for ReduceFromRanks {
    fn name(&self) -> &'static str {
        "reduce_from_ranks"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(copy_to_ranks(ctx.grad(), &self.comm)?)
    }

    fn saves_nothing(&self) -> bool {
        true
    }
}

struct ScatterToRanks {
    dim: isize,
    comm: Arc<dyn Comm>,
}

impl Function for ScatterToRanks {
    fn name(&self) -> &'static str {
        "scatter_to_ranks"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(gather_from_ranks(ctx.grad(), self.dim, &self.comm)?)
    }

    fn saves_nothing(&self) -> bool {
        true
    }
}

struct GatherFromRanks {
    dim: isize,
    comm: Arc<dyn Comm>,
}

impl Function for GatherFromRanks {
    fn name(&self) -> &'static str {
        "gather_from_ranks"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(scatter_to_ranks(ctx.grad(), self.dim, &self.comm)?)
    }

    fn saves_nothing(&self) -> bool {
        true
    }
}

fn one(grad: Tensor) -> Result<Gradients> {
    Ok([Some(grad)].into_iter().collect())
}
