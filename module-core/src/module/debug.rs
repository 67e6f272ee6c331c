//! What `Debug` prints: of a module the tree, of a large tensor no values.

use std::fmt;

use super::{Layer, Module, Tree};
use crate::Tensor;

/// The most elements that are printed one by one.
const MOST: usize = 16;

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

/// Prints a parameter or a buffer: few values as the tensor prints them, and of many the shape and the dtype, so
/// that it stays a line in the struct that holds it, and nothing is fetched from a device.
pub(super) fn fmt_tensor(kind: &str, value: &Tensor, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if value.numel() <= MOST {
        return write!(f, "{kind}({value})");
    }
    let (shape, dtype) = (value.shape(), value.dtype());
    write!(f, "{kind}(shape={shape}, dtype={dtype})")
}
