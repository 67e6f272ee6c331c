//! Tensors with automatic differentiation: PyTorch's operations, dtypes and random numbers in Rust.
//!
//! The crate stands alone; `module-core` and `module-nn` build modules and layers on it.
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
//!
//! # Operations, by family
//!
//! They are methods of [`Tensor`] that return new tensors and never change their operands. Operators (`&a + &b`, `-a`)
//! do the same and return a `Result`.
//!
//! | family | such as |
//! |---|---|
//! | creation | [`from_vec`](Tensor::from_vec), `Tensor::from([1.0, 2.0])`, [`zeros`](Tensor::zeros), [`full`](Tensor::full), [`arange`](Tensor::arange), [`linspace`](Tensor::linspace), [`eye`](Tensor::eye) |
//! | random numbers | [`rand`](Tensor::rand), [`randn`](Tensor::randn), [`randint`](Tensor::randint), [`randperm`](Tensor::randperm), [`bernoulli`](Tensor::bernoulli), [`multinomial`](Tensor::multinomial), [`dropout`](Tensor::dropout) |
//! | reading | [`item`](Tensor::item), [`to_vec`](Tensor::to_vec), [`shape`](Tensor::shape), [`dtype`](Tensor::dtype), [`device`](Tensor::device) |
//! | arithmetic | [`add`](Tensor::add), [`sub`](Tensor::sub), [`mul`](Tensor::mul), [`div`](Tensor::div), [`pow`](Tensor::pow), [`remainder`](Tensor::remainder), [`clamp`](Tensor::clamp), [`add_scaled`](Tensor::add_scaled) |
//! | functions | [`exp`](Tensor::exp), [`log`](Tensor::log), [`sqrt`](Tensor::sqrt), [`sin`](Tensor::sin), [`tanh`](Tensor::tanh), [`erf`](Tensor::erf), [`abs`](Tensor::abs), [`round`](Tensor::round) |
//! | comparison | [`eq`](Tensor::eq), [`lt`](Tensor::lt), [`where_`](Tensor::where_), [`isnan`](Tensor::isnan), [`allclose`](Tensor::allclose), [`logical_and`](Tensor::logical_and) |
//! | reduction | [`sum`](Tensor::sum), [`mean`](Tensor::mean), [`var`](Tensor::var), [`max`](Tensor::max), [`amax`](Tensor::amax), [`argmax`](Tensor::argmax), [`any`](Tensor::any), [`norm`](Tensor::norm), [`logsumexp`](Tensor::logsumexp), [`median`](Tensor::median), [`quantile`](Tensor::quantile) |
//! | along a dimension | [`cumsum`](Tensor::cumsum), [`cumprod`](Tensor::cumprod), [`cummax`](Tensor::cummax), [`diff`](Tensor::diff) |
//! | order and counting | [`sort`](Tensor::sort), [`topk`](Tensor::topk), [`unique`](Tensor::unique), [`bincount`](Tensor::bincount), [`searchsorted`](Tensor::searchsorted), [`nonzero`](Tensor::nonzero) |
//! | products | [`matmul`](Tensor::matmul), [`dot`](Tensor::dot), [`outer`](Tensor::outer), [`addmm`](Tensor::addmm), [`einsum`](Tensor::einsum), [`tensordot`](Tensor::tensordot), [`linear`](Tensor::linear), [`cdist`](Tensor::cdist) |
//! | shape | [`reshape`](Tensor::reshape), [`transpose`](Tensor::transpose), [`permute`](Tensor::permute), [`squeeze`](Tensor::squeeze), [`expand`](Tensor::expand), [`flatten`](Tensor::flatten), [`flip`](Tensor::flip), [`roll`](Tensor::roll), [`repeat`](Tensor::repeat) |
//! | indexing and joining | [`i`](Tensor::i) (PyTorch's `x[…]`), [`narrow`](Tensor::narrow), [`select`](Tensor::select), [`split`](Tensor::split), [`chunk`](Tensor::chunk), [`unbind`](Tensor::unbind), [`cat`](Tensor::cat), [`stack`](Tensor::stack) |
//! | index tensors and masks | [`gather`](Tensor::gather), [`scatter_add`](Tensor::scatter_add), [`index_select`](Tensor::index_select), [`index_put`](Tensor::index_put), [`masked_select`](Tensor::masked_select), [`masked_fill`](Tensor::masked_fill), [`one_hot`](Tensor::one_hot), [`embedding`](Tensor::embedding) |
//! | activations | [`relu`](Tensor::relu), [`gelu`](Tensor::gelu), [`silu`](Tensor::silu), [`sigmoid`](Tensor::sigmoid), [`softmax`](Tensor::softmax), [`log_softmax`](Tensor::log_softmax) |
//! | windows | [`conv2d`](Tensor::conv2d), [`conv_transpose2d`](Tensor::conv_transpose2d), [`max_pool2d`](Tensor::max_pool2d), [`avg_pool2d`](Tensor::avg_pool2d), [`im2col`](Tensor::im2col), [`pad`](Tensor::pad) |
//! | images | [`interpolate`](Tensor::interpolate), [`grid_sample`](Tensor::grid_sample), [`affine_grid`](Tensor::affine_grid) |
//! | normalization and attention | [`batch_norm`](Tensor::batch_norm), [`layer_norm`](Tensor::layer_norm), [`rms_norm`](Tensor::rms_norm), [`group_norm`](Tensor::group_norm), [`scaled_dot_product_attention`](Tensor::scaled_dot_product_attention) |
//! | losses | [`cross_entropy`](Tensor::cross_entropy), [`nll_loss`](Tensor::nll_loss) |
//! | dtype and device | [`to_dtype`](Tensor::to_dtype), [`to_device`](Tensor::to_device), [`contiguous`](Tensor::contiguous) |
//! | matrix decompositions | the module `linalg`, behind the feature of that name |
//!
//! # Other items
//!
//! | group | items |
//! |---|---|
//! | gradients | [`Tensor::backward`], [`autograd`], [`no_grad()`](no_grad), [`Function`] for operations of your own |
//! | dtypes and precision | [`DType`], [`autocast()`](autocast), [`with_default_dtype`] |
//! | random numbers | [`rng`], [`Generator`], [`manual_seed`], [`fork_rng`] |
//! | devices | [`Device`], [`backend`], [`with_default_device`], [`set_num_threads`] |
//! | kernels for optimizers and recurrent layers | [`fused`] |
//! | errors | [`error`], [`Error`], [`ErrorKind`] |

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
    pub use crate::ops::{
        RecurrentOptions, RecurrentOutput, huber, recurrent, unshare, update_elements,
    };
}

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
