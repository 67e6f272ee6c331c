//! Files as memory: the one place where the operating system's mapping is trusted.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// The content of a file, read by the system as it is touched.
///
/// Files that are replaced as [`atomic`](super::atomic) replaces them, or removed, keep their old
/// content in the mapping. A file that another program shortens meanwhile ends this one with a bus
/// error as soon as the lost part is touched, and one that is written in place changes the tensors
/// that borrow from it; `ReadOptions::mmap(false)` reads such files into memory of their own.
pub(super) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is private and never written, and holds its file. That nobody else changes
    // the file in place is what `StateDict::load` asks of its caller, and cannot be had otherwise.
    unsafe { Mmap::map(file) }
}
