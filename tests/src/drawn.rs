//! Randomly drawn cases that were recorded with PyTorch: those of the repository, or those of a folder.
#![allow(clippy::expect_used)]

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use module_core::{StateDict, set_num_threads};
use serde_json::Value;

use crate::golden;

/// The cases of a file, and their tensors.
pub struct Drawn {
    /// The cases.
    pub cases: Vec<Value>,
    /// The tensors of all cases.
    pub tensors: StateDict,
    /// Whether they are those of the repository.
    pub is_recording: bool,
}

impl Drawn {
    /// Reads `file` in the folder that the environment variable `variable` names, or else among the recorded data.
    ///
    /// `<variable>_THREADS` is the number of threads.
    pub fn open(variable: &str, file: &str) -> Self {
        if let Ok(threads) = env::var(format!("{variable}_THREADS")) {
            set_num_threads(threads.parse().expect("a number of threads"));
        }
        let folder = env::var_os(variable).map(PathBuf::from);
        let is_recording = folder.is_none();
        let (cases, tensors) = golden::load(folder.unwrap_or_default().join(file));
        Self {
            cases: cases.as_array().expect("a list").clone(),
            tensors,
            is_recording,
        }
    }

    /// Panics with every difference that `check` finds in a case, given with its number; or if the repository has fewer than
    /// `least` cases.
    pub fn check(&self, least: usize, mut check: impl FnMut(usize, &Value) -> Result<(), String>) {
        let mut problems = Vec::new();
        for (i, case) in self.cases.iter().enumerate() {
            // A panic in one case must not hide the others.
            let checked = catch_unwind(AssertUnwindSafe(|| check(i, case)));
            problems.extend(checked.unwrap_or(Err(format!("{i} panicked"))).err());
        }
        let (found, count) = (problems.len(), self.cases.len());
        assert_eq!(found, 0, "of {count} cases:\n{}", problems.join("\n"));
        assert!(count >= least || !self.is_recording, "{count} cases");
    }
}
