//! Activation checkpointing: a part of a model keeps none of its activations and recomputes them in the backward pass, like
//! PyTorch's `torch.utils.checkpoint`. (For checkpoint files, see [`checkpoint`](crate::checkpoint).)
//!
//! This trades time for memory: if a deep model is divided into `n` parts, only the activations of one part and the inputs of
//! the others are in memory at once, and the forward pass runs twice.
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
