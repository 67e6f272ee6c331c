//! The module contract: which fields register, and how modules are walked and printed.
//!
//! | item | is |
//! |---|---|
//! | [`Module`] | a network or a part of one; written by `#[derive(Module)]` |
//! | [`Forward`], [`Layer`] | the computation of a module; a module that maps one tensor to one tensor |
//! | [`Parameter`], [`Buffer`], [`ExtraState`], [`Maybe`], [`Bias`] | the parts of a module: trained tensors, other tensors, any other state; one that may be absent |
//! | [`Init`] | how a parameter gets its values |
//! | [`Training`], [`Marker`] | the mode flag; an address for a module without other fields |
//! | [`Field`], [`Member`], [`Constant`], [`Describe`] | the types of fields, and the fields of a module as known at compile time |
//! | [`Visitor`], [`VisitorMut`], [`Walk`], [`Tree`] | walks through a module, and its printed form |
//! | [`deferred`](deferred()) | builds a module without allocating or drawing its values |

mod buffer;
mod checks;
mod constant;
mod constant_fields;
pub(crate) mod convert;
mod debug;
mod deferred;
mod describe;
mod extra_state;
mod field;
mod fmt_tensor;
pub(crate) mod freeze;
mod history;
mod identity;
mod init;
pub(crate) mod journal;
mod list;
mod marker;
mod maybe;
mod member;
mod next_number;
mod number;
mod operators;
pub(crate) mod overrides;
mod parameter;
pub(crate) mod path;
mod replay;
mod skip;
mod tensor_id;
mod token;
mod training;
mod traits;
mod transparent;
mod tree;
mod visit;
pub(crate) mod walk;

pub use buffer::Buffer;
#[doc(hidden)]
pub use checks::{FieldsCheck, assert_module};
pub use constant::{Constant, Repr};
#[doc(hidden)]
pub use debug::fmt_tree;
pub use deferred::deferred;
pub use describe::{Describe, FieldInfo, FieldRole, Written};
pub use extra_state::ExtraState;
pub use field::{Field, MayBeCloned};
pub use identity::ModuleId;
pub(crate) use identity::{IdMap, IdSet};
pub use init::{ConstantInit, Init};
pub use marker::Marker;
pub use maybe::{Bias, Maybe, Optional};
pub use member::Member;
pub use number::Number;
pub use parameter::Parameter;
pub use skip::{HoldsState, Skip, SkipFallback};
pub use tensor_id::TensorId;
pub(crate) use token::Token;
pub use training::Training;
pub use traits::{Computes, Forward, Layer, Module, Upcast};
pub use tree::Tree;
pub use visit::{Visitor, VisitorMut};
pub use walk::Walk;
