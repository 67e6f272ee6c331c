//! Memory-mapped files: the one place that trusts the operating system's mapping.
//!
//! This needs `unsafe`, because other programs can change or remove mapped memory, which Rust does not allow for. The
//! caller must promise what cannot be checked.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;

#[cfg(not(miri))]
use memmap2::Mmap;

use super::ReadOptions;

/// Evidence that the caller has made the promise of [`ReadOptions::mapped`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Promise(());

impl ReadOptions {
    /// Maps safetensors and GGUF files into memory instead of copying them: tensors borrow from the file, so that opening a
    /// large one takes no time, and its parts are read when they are used.
    ///
    /// Other formats are still copied, and so are headers and elements that are not stored as in memory: booleans, and
    /// unaligned elements.
    ///
    /// # Safety
    ///
    /// As long as a tensor borrows from a file that is read with these options or a clone of them, and while it is being
    /// read, nobody may write to that file or shorten it, in this program or another one. A write would change tensors that
    /// the compiler takes for constant; access to a truncated part ends the program with a bus error.
    ///
    /// The file may be removed, and replaced as a whole by a rename, as [`StateDict::save`](crate::StateDict::save) does:
    /// the tensors keep the old content. (Not on Windows, where a mapped file stays.)
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{ReadOptions, StateDict, Tensor};
    ///
    /// let path = std::env::temp_dir().join(format!("doc-mapped-{}.safetensors", std::process::id()));
    /// StateDict::from_iter([("weight", Tensor::from([1.0_f32, 2.0]))]).save(&path)?;
    /// // SAFETY: nobody else knows of this file.
    /// let options = unsafe { ReadOptions::new().mapped() };
    /// let state = StateDict::load_with(&path, &options)?;
    /// std::fs::remove_file(path)?;
    /// assert_eq!(state.get("weight").unwrap().to_vec::<f32>()?, [1.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub unsafe fn mapped(self) -> Self {
        let mapped = Some(Promise(()));
        Self { mapped, ..self }
    }
}

/// The content of a file, read by the system on access.
#[cfg(not(miri))]
pub(super) fn map(file: &File, _: Promise) -> io::Result<Mmap> {
    // SAFETY: the mapping is private and never written, and holds its file. The caller of `ReadOptions::mapped` has
    // promised that nobody else writes or shortens the file: nothing else makes a `Promise`.
    unsafe { Mmap::map(file) }
}

/// Miri cannot map files; it checks the same code on bytes that are laid out like a mapping.
#[cfg(miri)]
pub(super) fn map(mut file: &File, _: Promise) -> io::Result<Pages> {
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

/// Options for tests, which change no file that they read with them.
#[cfg(test)]
pub(super) fn promised() -> ReadOptions {
    // SAFETY: the files are a test's own, and are replaced and removed as a whole.
    unsafe { ReadOptions::new().mapped() }
}
