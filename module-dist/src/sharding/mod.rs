//! Training state that is divided among ranks: optimizer states, gradients and parameters, as in ZeRO and PyTorch's FSDP.
//!
//! [`Sharded`] divides the state of a model; [`ShardingStage`] says which part, and how much memory that saves.

mod checkpoint;
mod clip;
mod core;
mod division;
mod error;
mod group;
mod hooks;
mod member;
mod optimizer_state;
mod order;
mod sharded;
mod shards;
mod stage;
mod state;
mod units;

pub use error::ShardingError;
pub use sharded::Sharded;
pub use shards::Shards;
pub use stage::ShardingStage;
