//! The module contract: what registers, how it is walked and printed.

mod buffer;
mod constant;
mod field;
mod init;
mod list;
mod marker;
mod maybe;
mod parameter;
pub(crate) mod path;
mod traits;
mod training;
mod transparent;
mod tree;
mod visit;
pub(crate) mod walk;

pub use buffer::Buffer;
pub use constant::Constant;
pub use field::{Field, HoldsState, Member, Skip, SkipFallback};
pub use marker::Marker;
pub use init::{ConstantInit, Init};
pub use maybe::{Bias, Leaf, Maybe};
pub use parameter::{Parameter, TensorId};
pub use traits::{Forward, Layer, Module, ModuleId};
pub use training::Training;
pub use tree::Tree;
pub use visit::{Visitor, VisitorMut};
pub use walk::Walk;
