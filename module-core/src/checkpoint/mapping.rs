//! Files as memory: the one place where the operating system's mapping is trusted.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;

#[cfg(not(miri))]
use memmap2::Mmap;

/// The content of a file, read by the system as it is touched.
///
/// Files that are replaced as [`atomic`](super::atomic) replaces them, or removed, keep their old
/// content in the mapping. A file that another program shortens meanwhile ends this one with a bus
/// error as soon as the lost part is touched, and one that is written in place changes the tensors
/// that borrow from it; `ReadOptions::mmap(false)` reads such files into memory of their own.
#[cfg(not(miri))]
pub(super) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is private and never written, and holds its file. That nobody else changes
    // the file in place is what `StateDict::load` asks of its caller, and cannot be had otherwise.
    unsafe { Mmap::map(file) }
}

/// Miri maps no files, and looks at what is done with bytes that lie as a mapping does.
#[cfg(miri)]
pub(super) fn map(mut file: &File) -> io::Result<Pages> {
    let mut bytes = Vec::new();
    let length = io::Read::read_to_end(&mut file, &mut bytes)?;
    bytes.resize(length.next_multiple_of(8), 0);
    let words = bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned);
    Ok(Pages(words.collect(), length))
}

#[cfg(miri)]
pub(super) struct Pages(Vec<u64>, usize);

#[cfg(miri)]
impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.0)[..self.1]
    }
}
