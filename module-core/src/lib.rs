//! PyTorch's `nn.Module` contract in Rust: the run time.

extern crate self as module_core;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
pub mod checkpoint;
mod containers;
pub mod error;
mod ext;
pub mod hooks;
pub mod module;
mod select;
mod state;

// Named here too, because the compiler's messages print the path by which a trait is reached.
#[doc(hidden)]
pub use __private::{
    CellField, FlattenField, HasAddress, HoldsTensors, IsEmpty, IsNotClone, LayerPayload, MapField,
    MayBeSkipped, NumbersField, OptionField, OptionSettingField, Skip, Skippable, TensorField,
    may_be_skipped,
};
#[cfg(feature = "fs")]
pub use checkpoint::{ChangedSetting, RestoreReport, SaveHandle, TrainingCheckpoint};
pub use checkpoint::{ReadOptions, Snapshot, Stateful};
pub use containers::{
    Dict, Identity, List, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential,
};
pub use error::{FileError, LoadProblems, Mismatch, ModuleError};
pub use ext::ModuleExt;
#[doc(hidden)]
pub use hooks::PassedAs;
pub use hooks::{
    BackwardCall, BackwardPreCall, Call, ForwardCall, ForwardPreCall, HookHandle, HookOptions,
    HookSet, SharedHookSet, Tensors,
};
pub use indexmap::IndexMap;
pub use module::{
    Bias, Buffer, Describe, ExtraState, Field, FieldInfo, FieldRole, Forward, Init, Layer, Marker,
    Maybe, Module, Parameter, TensorId, Training, Walk, deferred,
};
#[doc(hidden)]
pub use module::{Computes, MayBeCloned};
pub use module_derive::{Forward, Module, Tensors};
pub use select::Select;
pub use state::{
    Changed, LoadOptions, LoadReport, LoadStateDictCall, LoadStateDictPreCall, Remap, StateDict,
    StateDictCall, StateDictPreCall, StateDiff, Transpose, Unlike,
};

// The tensor library, so that one dependency is enough.
pub use module_tensor::BackwardOptions;
#[cfg(feature = "linalg")]
pub use module_tensor::linalg;
pub use module_tensor::{
    AdaptiveSize, Approximate, AttentionOptions, AvgPoolOptions, CdistMode, Conv2dOptions,
    ConvOptions, ConvTransposeOptions, CrossEntropyOptions, GridPaddingMode, GridSampleMode,
    IndexItem, Integers, InterpolateMode, InterpolateOptions, IntoIndex, Lengths, MeshIndexing,
    NllLossOptions, PadMode, Padding, Pool2dOptions, PoolOptions, QuantileInterpolation, Reduction,
    Repeats, Resize, ScatterReduce, Sizes, TensordotDims, UnfoldOptions, Unique, Value,
};
pub use module_tensor::{
    Backward, EnableGradGuard, Function, GradHookHandle, Gradients, GraphInput, GraphNode, Leaf,
    NoGradGuard, NoGradient, PostAccumulateHookHandle, Tensor, TensorOptions, enable_grad,
    is_grad_enabled, no_grad,
};
pub use module_tensor::{Complex, F8E4M3, F8E5M2};
pub use module_tensor::{DType, Scalar, default_dtype, with_default_dtype};
pub use module_tensor::{
    Device, Element, default_device, num_threads, set_num_threads, with_default_device,
};
pub use module_tensor::{Dims, IntoSize, IntoSizes, Layout, MAX_RANK, Shape};
pub use module_tensor::{Error, ErrorKind, Result};
pub use module_tensor::{Generator, fork_rng, manual_seed};
pub use module_tensor::{autograd, backend, fused, ndarray, rng};
