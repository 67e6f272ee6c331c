//! Communication: ranks that exchange tensors.

mod bytes;
mod collectives;
mod differentiable;
mod endpoint;
mod local;
mod mailbox;
mod message;
#[cfg(feature = "mpi")]
mod mpi;
mod reduce;
mod transport;
mod work;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "mpi")]
pub use self::mpi::{MpiComm, MpiTransport};
pub use bytes::{gather_bytes, share_bytes};
pub use differentiable::differentiable_all_reduce;
pub use endpoint::Endpoint;
pub(crate) use local::run_rank;
pub use local::{LocalComm, LocalTransport};
pub use mailbox::{Mailbox, Stop};
pub use transport::{Channel, Transport};
pub use work::Work;

use crate::RankFailure;
use module_nn::{Result, Tensor};

/// How [`Comm::all_reduce`] and [`Comm::reduce_scatter`] combine the tensors of the ranks, in the order of the ranks, so
/// that the result has the same bits in every run and on every rank.
///
/// Sums of `F16` and `BF16` are computed in `F32` and rounded once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceOp {
    /// The sum; of booleans, whether one is true.
    Sum,
    /// The sum divided by the number of ranks; of floating-point numbers only.
    Mean,
    /// The maximum; NaN if one is NaN.
    Max,
    /// The minimum; NaN if one is NaN.
    Min,
}

impl fmt::Display for ReduceOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Max => "max",
            Self::Min => "min",
        })
    }
}

/// One rank's access to a group of ranks: PyTorch's process group.
///
/// All ranks of a group must start the same collectives in the same order, from one thread at a time; a different call is
/// reported as [`FailureCause::DifferentCall`](crate::FailureCause::DifferentCall). A method `start_…` returns at once, and
/// the collective proceeds in the background; its [`Work`] returns the result. The other methods wait.
///
/// Tensors may have any dtype and device; those of devices pass through host memory. Results are untracked and on the
/// device of the argument; received tensors are on the CPU.
///
/// A rank that does not answer within the deadline, ends early or reports a failure with [`fail`](Self::fail) ends the
/// group: every present and later call on every rank returns the same [`RankFailure`].
///
/// # Example
///
/// ```
/// use module_dist::{Comm, LocalComm};
/// use module_nn::prelude::*;
///
/// let gathered = LocalComm::run(2, |comm| {
///     let work = comm.start_all_gather(&Tensor::from([comm.rank() as i64]))?;
///     // Compute something meanwhile.
///     Tensor::cat(&work.wait()?, 0)?.to_vec::<i64>()
/// })?;
/// assert_eq!(gathered, [[0, 1], [0, 1]]);
/// # Ok::<(), Error>(())
/// ```
pub trait Comm: Send + Sync + 'static {
    /// This rank, from 0 to `size() - 1`.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// How long a rank waits for another before it gives up.
    fn deadline(&self) -> Duration;

    /// Starts [`all_reduce`](Self::all_reduce).
    ///
    /// # Errors
    ///
    /// A dtype without arithmetic; a mean of integers; a group that has failed.
    fn start_all_reduce(&self, tensor: &Tensor, op: ReduceOp) -> Result<Work<Tensor>>;

    /// Starts [`reduce_scatter`](Self::reduce_scatter).
    ///
    /// # Errors
    ///
    /// Those of `start_all_reduce`; a first dimension that the number of ranks does not divide.
    fn start_reduce_scatter(&self, tensor: &Tensor, op: ReduceOp) -> Result<Work<Tensor>>;

    /// Starts [`all_gather`](Self::all_gather).
    ///
    /// # Errors
    ///
    /// Packed elements; a group that has failed.
    fn start_all_gather(&self, tensor: &Tensor) -> Result<Work<Vec<Tensor>>>;

    /// Starts [`broadcast`](Self::broadcast).
    ///
    /// # Errors
    ///
    /// A root that is not a rank; packed elements; a group that has failed.
    fn start_broadcast(&self, tensor: &Tensor, root: usize) -> Result<Work<Tensor>>;

    /// Starts [`barrier`](Self::barrier).
    ///
    /// # Errors
    ///
    /// A group that has failed.
    fn start_barrier(&self) -> Result<Work<()>>;

    /// Starts [`send`](Self::send).
    ///
    /// # Errors
    ///
    /// A rank that does not exist or is this one; packed elements; a group that has failed.
    fn start_send(&self, tensor: &Tensor, to: usize, tag: u32) -> Result<Work<()>>;

    /// Starts [`receive`](Self::receive).
    ///
    /// # Errors
    ///
    /// A rank that does not exist or is this one; a group that has failed.
    fn start_receive(&self, from: usize, tag: u32) -> Result<Work<Tensor>>;

    /// A group of those ranks that give the same `color`, ordered by `key`, then by rank: MPI's `Comm_split`.
    ///
    /// It is a collective: all ranks of this group call it.
    ///
    /// # Errors
    ///
    /// A group that has failed.
    fn split(&self, color: usize, key: usize) -> Result<Arc<dyn Comm>>;

    /// Ends the run on all ranks with this failure.
    fn fail(&self, failure: RankFailure);

    /// The failure that has ended the run, if any.
    fn failure(&self) -> Option<RankFailure>;

    /// The rank in the whole run; the same as [`rank`](Self::rank) unless this is a group made by [`split`](Self::split).
    fn world_rank(&self) -> usize {
        self.rank()
    }

    /// Says which step of training this rank has reached; failures name it.
    fn set_step(&self, step: u64) {
        let _ = step;
    }

    /// Combines the tensors of all ranks elementwise; every rank gets the result.
    ///
    /// # Errors
    ///
    /// A dtype without arithmetic; a mean of integers; a [`RankFailure`].
    fn all_reduce(&self, tensor: &Tensor, op: ReduceOp) -> Result<Tensor> {
        self.start_all_reduce(tensor, op)?.wait()
    }

    /// Combines the tensors of all ranks elementwise; rank `r` gets part `r` of the result, which is divided along its first
    /// dimension.
    ///
    /// # Errors
    ///
    /// Those of [`all_reduce`](Self::all_reduce); a first dimension that the number of ranks does not divide.
    fn reduce_scatter(&self, tensor: &Tensor, op: ReduceOp) -> Result<Tensor> {
        self.start_reduce_scatter(tensor, op)?.wait()
    }

    /// The tensors of all ranks, in the order of the ranks. They may have different shapes and dtypes.
    ///
    /// # Errors
    ///
    /// Packed elements; a [`RankFailure`].
    fn all_gather(&self, tensor: &Tensor) -> Result<Vec<Tensor>> {
        self.start_all_gather(tensor)?.wait()
    }

    /// The tensor of rank `root`. The other ranks give a tensor of the same shape and dtype.
    ///
    /// # Errors
    ///
    /// A root that is not a rank; packed elements; a [`RankFailure`].
    fn broadcast(&self, tensor: &Tensor, root: usize) -> Result<Tensor> {
        self.start_broadcast(tensor, root)?.wait()
    }

    /// Returns when all ranks have called it.
    ///
    /// # Errors
    ///
    /// A [`RankFailure`].
    fn barrier(&self) -> Result<()> {
        self.start_barrier()?.wait()
    }

    /// Sends a tensor to rank `to`, which [receives](Self::receive) it with the same tag. Tensors with the same destination
    /// and tag arrive in order. The elements are copied, so that no send waits for its receiver.
    ///
    /// # Errors
    ///
    /// A rank that does not exist or is this one; packed elements; a group that has failed.
    fn send(&self, tensor: &Tensor, to: usize, tag: u32) -> Result<()> {
        self.start_send(tensor, to, tag)?.wait()
    }

    /// The next tensor that rank `from` sends with this tag, whatever its shape and dtype.
    ///
    /// # Errors
    ///
    /// A rank that does not exist or is this one; a [`RankFailure`].
    fn receive(&self, from: usize, tag: u32) -> Result<Tensor> {
        self.start_receive(from, tag)?.wait()
    }
}
