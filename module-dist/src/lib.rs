//! Distributed training for [`module_nn`]: many ranks, each with a copy or a part of one model, that exchange tensors
//! through a [`Comm`].
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

mod checkpoint;
pub mod comm;
pub mod conformance;
pub mod data_parallel;
mod error;
mod launch;
mod metrics;
pub mod parallel;
mod random;
pub mod sharding;
pub mod simulate;
mod sync_batch_norm;

pub use checkpoint::{PerRank, load_checkpoint, save_checkpoint};
#[cfg(feature = "mpi")]
pub use comm::MpiComm;
pub use comm::{Comm, LocalComm, ReduceOp, Work};
pub use data_parallel::{
    AllReduceGradients, Bf16Compression, DataParallel, DataParallelConfig, F16Compression,
    GradBucket, GradientHook, TopKCompression, check_parameters,
};
pub use error::{FailureCause, RankFailure};
pub use launch::{launch, launch_with, world};
pub use metrics::compute_metric;
pub use random::{rank_seed, with_rank_rng};
pub use sync_batch_norm::DistributedBatchNorm;
