//! The module contract: what registers, how it is walked and printed.

mod buffer;
mod checks;
mod constant;
pub(crate) mod convert;
mod debug;
mod deferred;
mod describe;
mod extra_state;
mod field;
pub(crate) mod freeze;
mod history;
mod identity;
mod init;
mod list;
mod marker;
mod maybe;
mod number;
mod operators;
mod parameter;
pub(crate) mod path;
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
pub use field::{Field, HoldsState, MayBeCloned, Member, Skip, SkipFallback};
pub use identity::ModuleId;
pub(crate) use identity::{IdMap, IdSet};
pub use init::{ConstantInit, Init};
pub use marker::Marker;
pub use maybe::{Bias, Leaf, Maybe};
pub use number::Number;
pub use parameter::{Parameter, TensorId};
pub(crate) use token::Token;
pub use training::Training;
pub use traits::{Computes, Forward, Layer, Module, Upcast};
pub use tree::Tree;
pub use visit::{Visitor, VisitorMut};
pub use walk::Walk;
