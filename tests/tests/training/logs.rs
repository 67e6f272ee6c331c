//! Loggers, event files and plots.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod event_files;
mod plots;
mod tables;

use std::path::{Path, PathBuf};

/// A path that is removed before and after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("logs-{name}-{}", std::process::id()));
        let scratch = Self(path);
        scratch.remove();
        scratch
    }

    fn remove(&self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap()
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
