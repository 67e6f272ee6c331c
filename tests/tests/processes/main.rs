//! Tests that each need a separate child process: its memory, its threads, its formats.

mod cpu_capability;
mod feature_memory;
mod formats_of_users;
mod gradient_memory;
mod hook_memory;
mod killed_training;
mod naive;
mod num_threads;
mod pass_memory;
