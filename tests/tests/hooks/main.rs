//! Hooks on modules and tensors, and what looks into models by them.

mod features;
mod gradient_hooks;
mod hook_orders;
mod hooks;
mod hooks_on_threads;
mod inspection;
mod replace;
mod summary;
