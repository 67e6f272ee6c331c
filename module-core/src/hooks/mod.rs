//! Hooks: what runs before and after a module's `forward`, without a field in any module.
//!
//! Hooks live in a registry of their thread, keyed by the identity of the module, for as long as
//! their handle borrows it. A call on a thread without hooks reads one thread-local number.

mod call;
mod registry;
mod tensors;

pub use call::{Call, ForwardCall, ForwardPreCall, HookResult};
pub use registry::HookHandle;
pub(crate) use registry::{any, others, register_forward, register_forward_pre, register_other};
pub use tensors::Tensors;
