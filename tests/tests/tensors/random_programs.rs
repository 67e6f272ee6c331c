//! Random programs (`golden/random_programs`) agree with PyTorch, and with themselves run in other ways: a recording, or the
//! programs in the folder `RANDOM_PROGRAMS`, which `python -m random_programs` writes for any seed.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod program;

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use module_core::set_num_threads;
use module_tests::golden;

use program::Program;

const FILE: &str = "random_programs.safetensors";

/// The recording stays small, and has enough programs.
const BYTES: u64 = 1_000_000;
const PROGRAMS: usize = 200;

#[test]
fn random_programs_agree_with_pytorch_and_with_themselves() {
    if let Ok(threads) = env::var("RANDOM_PROGRAMS_THREADS") {
        set_num_threads(threads.parse().expect("a number of threads"));
    }
    let folder = env::var_os("RANDOM_PROGRAMS").map(PathBuf::from);
    let is_recording = folder.is_none();
    let (cases, tensors) = golden::load(folder.unwrap_or_default().join(FILE));
    let cases = cases.as_array().expect("a list");
    let operations = program::operations();
    let mut problems = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        let program = Program::new(case, i, &tensors, &operations);
        // A panic in one program must not hide the others.
        let checked = catch_unwind(AssertUnwindSafe(|| program.check()));
        let problem = checked.unwrap_or(Err("it panicked".to_owned())).err();
        problems.extend(problem.map(|problem| format!("{problem}\n{}", program.described())));
    }
    assert!(
        problems.is_empty(),
        "{} of {} differ:\n{}",
        problems.len(),
        cases.len(),
        problems.join("\n")
    );
    assert!(
        cases.len() >= PROGRAMS || !is_recording,
        "{} programs",
        cases.len()
    );
}

#[test]
fn the_recording_is_small() {
    let size = golden::path(FILE).metadata().expect("a recording").len();
    assert!(size <= BYTES, "{size} bytes");
}
