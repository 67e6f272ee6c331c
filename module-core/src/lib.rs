//! PyTorch's `nn.Module` contract in Rust: parameters, modules, hooks, state dicts and checkpoints.
//!
//! Layers and optimizers are in `module-nn`, which re-exports this crate; depend on this one to write layers of your own
//! without them. It re-exports [`module_tensor`].
//!
//! # Example
//!
//! ```
//! use module_core::{Call, Forward, Module, ModuleExt, Parameter, Result, Tensor};
//!
//! #[derive(Module)]
//! struct Scale {
//!     weight: Parameter,
//! }
//!
//! impl Forward for Scale {
//!     type Output = Tensor;
//!
//!     fn forward(&self, x: Tensor) -> Result<Tensor> {
//!         x.mul(&self.weight.tensor())
//!     }
//! }
//!
//! let scale = Scale { weight: Parameter::new(Tensor::from(2.0_f32))? };
//! scale.call(Tensor::from([1.0_f32, 3.0]))?.sum(..)?.backward()?;
//! assert_eq!(scale.weight.grad().unwrap().item::<f32>()?, 4.0);
//! assert_eq!(scale.state_dict()?.len(), 1);
//! # Ok::<(), module_core::Error>(())
//! ```
//!
//! # Contents
//!
//! | group | items |
//! |---|---|
//! | a network | [`Module`] and its derive, [`Forward`], [`Layer`], [`Describe`]; [`module`] has the whole contract |
//! | its parts | [`Parameter`], [`Buffer`], [`ExtraState`]; [`Maybe`] and [`OrIdentity`] if it may be absent; [`Training`] |
//! | its methods | [`ModuleExt`], [`Call`], [`functional_call()`](functional_call), [`deferred()`](deferred), [`Select`] for parts of it |
//! | containers | [`Sequential`], [`ModuleList`], [`ModuleDict`], [`ParameterList`], [`ParameterDict`], [`Identity`] |
//! | hooks | [`hooks`]: [`HookHandle`], [`HookSet`], [`SharedHookSet`] |
//! | state | [`StateDict`], [`LoadOptions`], [`LoadReport`], [`Remap`], [`Transpose`], [`StateDiff`] |
//! | files | [`checkpoint`]: [`ReadOptions`], [`TrainingCheckpoint`], [`Stateful`], [`TorchObject`] |
//! | memory | [`activation_checkpoint`] |
//! | errors | [`error`]: [`ModuleError`], [`LoadProblems`], [`FileError`], beside those of tensors |

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
/// For an enum whose variants each hold one layer:
///
/// ```
/// use module_core::{Call, Forward, Identity, Module, Sequential, Tensor};
///
/// #[derive(Module, Forward)]
/// enum Skip {
///     Project(Sequential),
///     Identity(Identity),
/// }
///
/// let skip = Skip::Identity(Identity::new());
/// assert_eq!(skip.call(Tensor::from([1.0_f32]))?.to_vec::<f32>()?, [1.0]);
/// # Ok::<(), module_core::Error>(())
/// ```
pub use module_derive::Forward;
/// For a struct of parameters and other modules:
///
/// ```
/// use module_core::{Identity, Module, ModuleExt, Parameter, Tensor};
///
/// #[derive(Module)]
/// struct Block {
///     #[module(rename = "gamma")]
///     weight: Parameter,
///     layers: Vec<Identity>,
///     eps: f64,
/// }
///
/// let weight = Parameter::new(Tensor::from([1.0_f32]))?;
/// let block = Block { weight, layers: vec![Identity::new()], eps: 1e-5 };
/// assert_eq!(block.state_dict()?.keys().collect::<Vec<_>>(), ["gamma"]);
/// # Ok::<(), module_core::Error>(())
/// ```
pub use module_derive::Module;
/// For a struct that a module takes or returns:
///
/// ```
/// use module_core::{Tensor, Tensors};
///
/// #[derive(Tensors)]
/// struct Batch {
///     images: Tensor,
///     labels: Vec<Tensor>,
/// }
///
/// let x = Tensor::from([1.0_f32]);
/// let batch = Batch { images: x.clone(), labels: vec![x.clone(), x] };
/// let mut count = 0;
/// batch.for_each(&mut |_tensor| count += 1);
/// assert_eq!(count, 3);
/// ```
pub use module_derive::Tensors;
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
