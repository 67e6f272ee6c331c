//! PyTorch's `nn.Module` contract in Rust: the run time.

extern crate self as module_core;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
pub mod activation_checkpoint;
pub mod checkpoint;
mod containers;
pub mod error;
mod ext;
pub mod hooks;
pub mod module;
mod select;
mod state;

// Listed here too, because the compiler's messages print the path through which a trait is reachable.
#[doc(hidden)]
pub use __private::{
    CellField, FlattenField, HasAddress, HoldsTensors, IsEmpty, IsNotClone, LayerPayload, MapField,
    MayBeSkipped, NumbersField, OptionField, OptionSettingField, Skip, Skippable, TensorField,
    may_be_skipped,
};
pub use activation_checkpoint::CheckpointedSequential;
#[cfg(feature = "torch-files")]
pub use checkpoint::TorchObject;
#[cfg(any(feature = "fs", feature = "torch-files"))]
pub use checkpoint::{ChangedSetting, RestoreReport};
pub use checkpoint::{ReadOptions, Snapshot, Stateful};
#[cfg(feature = "fs")]
pub use checkpoint::{SaveHandle, TrainingCheckpoint};
pub use containers::{
    Dict, Identity, List, ModuleDict, ModuleList, OrIdentity, ParameterDict, ParameterList,
    Sequential,
};
pub use error::{FileError, LoadProblems, Mismatch, ModuleError, ValueProblems};
pub use ext::{FunctionalCall, ModuleExt, functional_call};
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
    Changed, Incompatible, LoadOptions, LoadReport, LoadStateDictCall, LoadStateDictPreCall, Remap,
    StateDict, StateDictCall, StateDictPreCall, StateDiff, SwappedState, Transpose,
};

// The tensor library, so that one dependency is enough.
pub use module_tensor::*;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
