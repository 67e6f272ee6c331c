//! Reading files.

#![allow(unsafe_code)]

use module_core::ReadOptions;

/// Options that let tensors borrow from files.
pub fn mapped() -> ReadOptions {
    // SAFETY: the tests replace and remove the files that they read this way, but never write into them.
    unsafe { ReadOptions::new().mapped() }
}
