//! Modules: members, trees, printing, errors, and silent failures that cannot happen here.

mod containers;
mod corners;
mod debug;
mod errors;
mod names;
mod pitfalls;
mod public_items;
mod random_trees;
mod readme;
mod reference;
mod trees;
