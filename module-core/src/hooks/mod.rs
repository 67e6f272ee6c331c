//! Hooks: what runs before and after a module's `forward`, without a field in any module.
//!
//! Hooks live in a registry of their thread, keyed by the identity of the module, for as long as
//! their handle borrows it. A call on a thread without hooks reads one thread-local number.

mod backward;
mod backward_call;
mod call;
mod global;
mod registry;
mod run;
mod set;
mod tensors;

pub use backward_call::{BackwardCall, BackwardPreCall};
pub use call::{Call, ForwardCall, ForwardPreCall, HookResult, PassedAs};
pub use global::{
    register_module_forward_hook, register_module_forward_hook_with,
    register_module_forward_pre_hook, register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
};
pub(crate) use registry::{Hook, Registration, any, others, register_other};
pub use registry::{HookHandle, HookOptions};
pub use set::HookSet;
pub use tensors::Tensors;
