//! Tensors with automatic differentiation: PyTorch's operations, dtypes and random numbers in Rust.
//!
//! # Example
//!
//! ```
//! use module_tensor::{DType, Tensor, manual_seed};
//!
//! manual_seed(0);
//! let x = Tensor::randn([4, 3], DType::F32)?;
//! let w = Tensor::randn([3, 2], DType::F32)?.with_grad()?;
//! x.matmul(&w)?.tanh()?.sum(..)?.backward()?;
//! assert_eq!(w.grad().unwrap().shape(), w.shape());
//! # Ok::<(), module_tensor::Error>(())
//! ```

pub mod autograd;
pub mod backend;
mod dtype;
pub mod error;
mod float8;
mod layout;
mod loss_watch;
mod ops;
mod option_table;
pub mod rng;
mod simd;
mod tensor;
mod watchers;
mod zip;

pub use autograd::BackwardOptions;
pub use backend::{
    BlockFormat, Device, Element, cpu_capability, default_device, exact_convolutions, num_threads,
    set_exact_convolutions, set_num_threads, with_default_device,
};
pub use dtype::{DType, Scalar, default_dtype, with_default_dtype};
pub use error::{AutogradError, DTypeError, DeviceError, Error, ErrorKind, Result, ShapeError};
pub use float8::{F8E4M3, F8E5M2};
pub use layout::{Dim, Dims, IntoSize, IntoSizes, Layout, MAX_RANK, Shape};
pub use loss_watch::{LossCall, watch_losses};
pub use ndarray;
pub use num_complex::Complex;
#[cfg(feature = "linalg")]
pub use ops::linalg;
pub use ops::{
    AdaptiveSize, Approximate, AttentionOptions, AutocastPolicy, AvgPoolOptions, CdistMode,
    Conv2dOptions, ConvOptions, ConvTransposeOptions, CrossEntropyOptions, GridPaddingMode,
    GridSampleMode, GridSampleOptions, IndexItem, Integers, InterpolateMode, InterpolateOptions,
    IntoIndex, Lengths, MeshIndexing, NllLossOptions, PadMode, Padding, Pool2dOptions, PoolOptions,
    QuantileInterpolation, ReduceDim, Reduction, Repeats, Resize, ScatterReduce,
    SearchSortedOptions, Sizes, TensordotDims, Tolerance, UnfoldOptions, Unique, Value,
};
pub use option_table::OptionValue;
pub use rng::{Generator, fork_rng, manual_seed};
pub use tensor::{
    AutocastState, Backward, EnableGradGuard, Function, GradHookHandle, Gradients, GraphInput,
    GraphNode, Leaf, NoGradGuard, NoGradient, PostAccumulateHookHandle, ReleasableMemory, Tensor,
    TensorOptions, autocast, enable_grad, is_autocast_enabled, is_grad_enabled, no_autocast,
    no_grad, recompute_in_backward,
};

/// Fused kernels that layers and optimizers call as free functions; they are not methods of
/// [`Tensor`].
pub mod fused {
    pub use crate::backend::{Real, RecurrentOp, UpdateFormula};
    pub use crate::ops::{RecurrentOptions, RecurrentOutput, recurrent, unshare, update_elements};
}

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
