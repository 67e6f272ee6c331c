//! PyTorch's `nn.Module` contract in Rust: the run time.

extern crate self as module_core;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
pub mod autograd;
pub mod backend;
mod checkpoint;
mod containers;
mod dtype;
mod error;
mod ext;
pub mod hooks;
mod layout;
pub mod module;
mod ops;
pub mod rng;
mod select;
mod state;
mod tensor;

pub use autograd::BackwardOptions;
pub use backend::AdamWStep;
pub use backend::RecurrentOp;
pub use backend::{Device, Element, num_threads, set_num_threads};
pub use checkpoint::{ReadOptions, SaveHandle, Snapshot, Stateful, TrainingCheckpoint};
pub use containers::{
    Dict, Identity, List, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential,
};
pub use dtype::{DType, Scalar, default_dtype, with_default_dtype};
pub use error::{Error, ErrorKind, LoadProblems, Mismatch, Result};
pub use ext::ModuleExt;
pub use hooks::{
    BackwardCall, BackwardPreCall, Call, ForwardCall, ForwardPreCall, HookHandle, HookOptions,
    HookSet, Tensors,
};
pub use indexmap::IndexMap;
pub use layout::{Dims, IntoSizes, Layout, Shape};
pub use module::{
    Bias, Buffer, Describe, ExtraState, Field, FieldInfo, FieldRole, Forward, Init, Layer, Marker,
    Maybe, Module, Parameter, TensorId, Training, Walk, deferred,
};
pub use module_derive::{Forward, Module, Tensors};
pub use ndarray;
pub use ops::{
    AdamWMoments, AdaptiveSize, Approximate, AttentionOptions, AvgPoolOptions, Conv2dOptions,
    ConvOptions, ConvTransposeOptions, CrossEntropyOptions, CtcLossOptions, IndexItem,
    InterpolateMode, InterpolateOptions, IntoIndex, LpPoolOptions, NllLossOptions, PadMode,
    Padding, Pool2dOptions, PoolOptions, RecurrentOptions, RecurrentOutput, Reduction, Resize,
    Sizes, UnfoldOptions, Value,
};
pub use rng::{Generator, fork_rng, manual_seed};
pub use select::Select;
pub use state::{
    Changed, LoadOptions, LoadReport, LoadStateDictCall, LoadStateDictPreCall, Remap, StateDict,
    StateDictCall, StateDictPreCall, StateDiff, Unlike,
};
pub use tensor::{
    Backward, EnableGradGuard, Function, GradHookHandle, Gradients, GraphNode, NoGradGuard,
    NoGradient, Tensor, enable_grad, is_grad_enabled, no_grad,
};
