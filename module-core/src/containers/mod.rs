//! Containers with behavior of their own; plain lists and maps are already modules.

mod dict;
mod identity;
mod list;
mod or_identity;
mod sequential;

pub use dict::{Dict, ModuleDict, ParameterDict};
pub use identity::Identity;
pub use list::{List, ModuleList, ParameterList};
pub use or_identity::OrIdentity;
pub use sequential::Sequential;
