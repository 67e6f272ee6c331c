//! Distributed training for [`module_nn`]: many ranks, each with a copy or a part of one model, that exchange tensors by a
//! [`Comm`].
//!
//! Ranks are threads of one process ([`LocalComm`]) or, with the feature `mpi`, processes on one machine or many.
//!
//! # Example
//!
//! ```
//! use module_dist::{Comm, LocalComm, ReduceOp};
//! use module_nn::prelude::*;
//!
//! let sums = LocalComm::run(2, |comm| {
//!     let mine = Tensor::from([1.0_f32 + comm.rank() as f32]);
//!     comm.all_reduce(&mine, ReduceOp::Sum)?.item::<f32>()
//! })?;
//! assert_eq!(sums, [3.0, 3.0]);
//! # Ok::<(), Error>(())
//! ```

pub mod comm;
mod error;

pub use comm::{Comm, LocalComm, ReduceOp, Work};
pub use error::{FailureCause, RankFailure};
