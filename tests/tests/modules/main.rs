//! Modules: members, trees, printing, errors, and silent failures that cannot happen here.

mod containers;
mod corners;
mod debug;
mod errors;
mod pitfalls;
mod readme;
mod trees;
