//! Reading files.

#![allow(unsafe_code)]

use module_core::ReadOptions;

/// Options that let tensors borrow from files.
pub fn mapped() -> ReadOptions {
    // SAFETY: the tests replace and remove files that they read so, and write into none.
    unsafe { ReadOptions::new().mapped() }
}
