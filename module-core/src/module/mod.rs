//! The module contract: what registers, how it is walked, what users call.

mod constant;
mod field;
mod list;
mod marker;
mod traits;
mod training;
mod transparent;
mod visit;

pub use constant::Constant;
pub use field::{Field, HoldsState, Member, Skip, SkipFallback};
pub use marker::Marker;
pub use traits::{Forward, Layer, Module, ModuleId};
pub use training::Training;
pub use visit::{Visitor, VisitorMut};
