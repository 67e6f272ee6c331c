//! Files of tests: temporary ones, and how recorded ones are read.

#![allow(clippy::unwrap_used, unsafe_code)]

use std::path::{Path, PathBuf};

use module_core::ReadOptions;

/// Options that let tensors borrow from files.
pub fn mapped() -> ReadOptions {
    // SAFETY: the tests replace and remove the files that they read this way, but never write into them.
    unsafe { ReadOptions::new().mapped() }
}

/// The Rust files below a folder, in the order of their paths.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let below = |path: PathBuf| match path.is_dir() {
        true => rust_files(&path),
        false if path.extension().is_some_and(|ending| ending == "rs") => vec![path],
        false => Vec::new(),
    };
    paths.into_iter().flat_map(below).collect()
}

/// The Adler-32 checksum, as Python's `zlib.adler32` computes it.
pub fn adler32(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1_u32, 0_u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65_521;
        (a, (a + b) % 65_521)
    });
    b << 16 | a
}

/// A path for one test, whose file or directory is removed at the end, also if the test fails.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// A path at which nothing is. The name must be unique among all tests.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        let scratch = Self(path);
        scratch.remove();
        scratch
    }

    /// An empty directory.
    pub fn directory(name: &str) -> Self {
        let scratch = Self::new(name);
        std::fs::create_dir_all(&scratch.0).unwrap();
        scratch
    }

    /// A path in the directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file in the directory.
    pub fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.file(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The names in the directory, in order.
    pub fn names(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.0).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap()
    }

    fn remove(&self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.remove();
    }
}
