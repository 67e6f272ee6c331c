//! Modules: members, trees, printing, errors, and the silent failures that do not happen here.

mod containers;
mod corners;
mod debug;
mod errors;
mod pitfalls;
mod readme;
mod trees;
