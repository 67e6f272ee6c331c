//! The `Debug` output of a module: its tree.

use std::fmt;

use super::{Layer, Module, Tree};

/// Prints a module as its tree.
#[doc(hidden)]
pub fn fmt_tree(module: &dyn Module, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    fmt::Display::fmt(&Tree::new(module.as_module()), f)
}

impl fmt::Debug for dyn Module + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Tree::new(self), f)
    }
}

impl fmt::Debug for dyn Layer + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_tree(self, f)
    }
}
