//! Containers with a behaviour of their own; plain lists and maps are modules already.

mod identity;
mod sequential;

pub use identity::Identity;
pub use sequential::Sequential;
