//! Activation checkpointing: a part of a model keeps none of its activations, and computes them again in the backward
//! pass, as PyTorch's `torch.utils.checkpoint`. (Files are [`checkpoint`](crate::checkpoint).)
//!
//! Memory for time: of a deep model in `n` parts, the activations of one part are in memory at once, and what goes
//! into the others; the forward pass runs twice.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//!
//! use module_core::activation_checkpoint::checkpoint;
//! use module_core::{Call, DType, Identity, Result, Tensor};
//!
//! let layer = Arc::new(Identity::new());
//! let x = Tensor::ones([2, 3], DType::F32)?.with_grad()?;
//! let run = move |x: Tensor| layer.call(x)?.exp()?.sin();
//! let y = checkpoint(run, x.clone())?;
//! y.sum(..)?.backward()?;
//! assert!(x.grad().is_some());
//! # Ok::<(), module_core::Error>(())
//! ```

mod function;
mod sequential;
mod surroundings;

pub use function::checkpoint;
pub use sequential::CheckpointedSequential;
