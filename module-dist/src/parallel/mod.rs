//! Models that are divided among ranks: layers whose weights are divided ([Megatron's tensor parallelism][1]), and a
//! pipeline of layers.
//!
//! All ranks call the layers in the same order with the same inputs. Each layer holds its part under the keys of the whole
//! one; [`state_dict`] joins the parts, so that checkpoints do not depend on the number of ranks.
//!
//! | in one process | divided among ranks |
//! |---|---|
//! | `Linear`, output features | [`ColumnParallelLinear`] |
//! | `Linear`, input features | [`RowParallelLinear`] |
//! | `Embedding` | [`VocabParallelEmbedding`] |
//! | `CrossEntropyLoss` | [`VocabParallelCrossEntropyLoss`] |
//! | `Sequential` | [`Pipeline`] |
//!
//! Other layers are divided with [`copy_to_ranks`], [`reduce_from_ranks`], [`scatter_to_ranks`] and [`gather_from_ranks`],
//! which are collectives with gradients.
//!
//! [1]: https://arxiv.org/abs/1909.08053

mod clip;
mod collectives;
mod column;
mod common;
mod cross_entropy;
mod embedding;
mod error;
mod pipeline;
mod row;
mod state;

pub use clip::clip_grad_norm;
pub use collectives::{copy_to_ranks, gather_from_ranks, reduce_from_ranks, scatter_to_ranks};
pub use column::ColumnParallelLinear;
pub use cross_entropy::VocabParallelCrossEntropyLoss;
pub use embedding::VocabParallelEmbedding;
pub use error::ParallelError;
pub use pipeline::{Pipeline, PipelineAction, one_forward_one_backward};
pub use row::RowParallelLinear;
pub use state::{load_state_dict, state_dict};
