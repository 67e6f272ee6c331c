//! Hooks: functions that run before and after a module's `forward` and its backward pass.
//!
//! A hook belongs to one module and to the thread that registered it, until its handle, which borrows the module, is
//! dropped. The hooks of a [`SharedHookSet`] run on every thread. Modules have no field for hooks, and in a program
//! without hooks, a call reads one number.
//!
//! | to | use |
//! |---|---|
//! | watch or change the inputs and outputs of one module | [`register_forward_pre_hook`](crate::ModuleExt::register_forward_pre_hook), [`register_forward_hook`](crate::ModuleExt::register_forward_hook), which get a [`ForwardPreCall`] and a [`ForwardCall`] |
//! | watch or change its gradients | [`register_full_backward_pre_hook`](crate::ModuleExt::register_full_backward_pre_hook), [`register_full_backward_hook`](crate::ModuleExt::register_full_backward_hook), which get a [`BackwardPreCall`] and a [`BackwardCall`] |
//! | watch many modules of a tree, with their paths | [`HookSet`], or [`SharedHookSet`] for calls on every thread |
//! | watch every module | [`register_module_forward_hook`], [`register_module_forward_pre_hook`], [`register_module_full_backward_hook`], [`register_module_full_backward_pre_hook`] |
//! | find hooks that did not run because the module was called on another thread | [`missed_hooks`] |
//!
//! [`HookOptions`] changes the order, and lets a hook see tensors with their graph. Hooks can see inputs and outputs of
//! any type that implements [`Tensors`].

mod backward;
mod backward_call;
mod call;
mod call_hooks;
mod count;
mod forward_call;
mod global;
mod hook;
mod missed;
mod numbered;
mod options;
mod registry;
mod run;
mod set;
mod shared;
mod shared_set;
mod table;
mod tensors;

pub use backward_call::{BackwardCall, BackwardPreCall};
pub use call::{Call, PassedAs};
pub(crate) use count::has_hooks;
pub use forward_call::{ForwardCall, ForwardPreCall, HookResult};
pub use global::{
    register_module_forward_hook, register_module_forward_hook_with,
    register_module_forward_pre_hook, register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
};
pub(crate) use hook::Hook;
pub use missed::{MissedHook, missed_hooks};
pub use options::HookOptions;
pub use registry::{HookHandle, is_hooked};
pub(crate) use registry::{Registration, hooks_of_type, register_typed};
pub use set::HookSet;
pub use shared_set::SharedHookSet;
pub use tensors::Tensors;
