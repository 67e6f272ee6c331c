//! PyTorch's `nn.Module` contract in Rust: the run time.

extern crate self as module_core;

pub mod autograd;
pub mod backend;
mod dtype;
mod error;
mod layout;
mod ops;
pub mod rng;
mod tensor;

pub use autograd::BackwardOptions;
pub use backend::{Device, Element};
pub use dtype::{DType, Scalar};
pub use error::{Error, ErrorKind, LoadProblems, Mismatch, Result, Trace};
pub use layout::{Dims, Layout, Shape};
pub use ops::{Conv2dOptions, Padding, Pool2dOptions, Value};
pub use rng::{Generator, fork_rng, manual_seed};
pub use tensor::{
    Backward, Function, Gradients, NoGradient, Tensor, enable_grad, is_grad_enabled, no_grad,
};
