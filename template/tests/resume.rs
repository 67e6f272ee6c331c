//! A run that is stopped and resumed is the same as one that is not.
//!
//! There is one test in this file, because tests of a program share its random numbers.

use std::path::PathBuf;

use module_nn::prelude::*;
use spirals::model::Spirals;
use spirals::training::Run;

const EPOCHS: u64 = 8;

/// A directory that is removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let name = format!("spirals-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The accuracy and the weights at the end of a run that is stopped after each of the epochs in `stops`.
fn run(directory: &Directory, stops: &[u64]) -> Result<(f64, Vec<u8>)> {
    let mut accuracy = 0.0;
    for stop in stops {
        accuracy = Run::new(&directory.0, EPOCHS)?.train(&directory.0, *stop)?;
    }
    let checkpoint = TrainingCheckpoint::load(&directory.0)?;
    let weights = checkpoint.get("model")?.tensors().to_bytes()?;
    Ok((accuracy, weights))
}

#[test]
fn a_stopped_run_learns_the_same_bits() -> Result<()> {
    let (whole, stopped) = (Directory::new("whole"), Directory::new("stopped"));
    let (accuracy, weights) = run(&whole, &[EPOCHS])?;
    assert!(accuracy > 0.8, "the accuracy is {accuracy}");
    assert!(run(&stopped, &[2, 3, EPOCHS])? == (accuracy, weights));

    let report = Spirals::new()?.load(stopped.0.join("best.safetensors"))?;
    assert!(report.not_loaded.is_empty(), "{report}");
    Ok(())
}
