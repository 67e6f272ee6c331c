//! Hooks on modules and tensors, and the inspection tools built on them.

mod features;
mod gradient_hooks;
mod hook_orders;
mod hooks;
mod hooks_on_threads;
mod inspection;
mod replace;
mod summary;
