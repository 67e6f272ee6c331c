//! Errors quote files and names only in part, without terminal control characters.
#![allow(clippy::unwrap_used)]

use std::io;
use std::path::PathBuf;

use crate::data::{DataError, ReaderError};
use crate::lora::{LoraError, PeftError};
use crate::optim::{AveragingError, OptimizerError};
use crate::{Error, ModuleError};

/// A name from a hostile file: long, and with terminal control characters.
fn key() -> String {
    format!("\u{1b}[2J\n\r\u{9b}\u{202e}{}", "k".repeat(1 << 20))
}

/// An error of another crate, which quotes values itself.
fn source() -> Error {
    let (op, key, suggestion) = ("load", key(), None);
    ModuleError::NoSuchKey {
        op,
        key,
        suggestion,
    }
    .into()
}

/// Every error of adapters, with hostile text wherever it contains text.
fn adapters() -> Vec<LoraError> {
    use LoraError as K;
    let (op, adapters) = ("merge", || vec![key(), key()]);
    vec![
        K::NotAdaptable {
            path: key(),
            kind: "ReLU",
            reason: key(),
        },
        K::Exists { adapter: key() },
        K::NoSuchAdapter {
            op,
            adapter: key(),
            adapters: adapters(),
        },
        K::Merged {
            op,
            adapters: adapters(),
        },
        K::NothingToMerge { op, needs: "one" },
        K::Weight {
            op,
            path: key(),
            reason: key(),
        },
        K::Together {
            op,
            path: key(),
            adapters: adapters(),
            reason: key(),
        },
    ]
}

/// The same of PEFT's configurations.
fn configurations() -> Vec<PeftError> {
    use PeftError as K;
    vec![
        K::Json { problem: key() },
        K::Field {
            field: key(),
            value: key(),
            problem: key(),
        },
    ]
}

/// The same of data sets.
fn data() -> Vec<DataError> {
    use DataError as K;
    let lengths = || vec![7; 1000];
    vec![
        K::Index { index: 7, len: 0 },
        K::Empty {
            op: "cat",
            what: "tensors",
        },
        K::FirstDimension {
            tensor: 1,
            expected: 2,
            found: 3,
        },
        K::SplitLengths {
            lengths: lengths(),
            len: 0,
        },
        K::StackLengths { lengths: lengths() },
        K::Sample {
            sample: 1,
            what: "shape",
            found: key(),
            expected: key(),
        },
        K::Load {
            batch: 0,
            index: 0,
            source: source(),
        },
        K::Collate {
            batch: 0,
            indices: lengths(),
            source: source(),
        },
        K::Panic {
            batch: 0,
            index: None,
            message: key(),
        },
        K::NoThreads { num_workers: 1 },
        K::Start {
            worker: 0,
            source: io::ErrorKind::OutOfMemory.into(),
        },
        K::Ended { batch: 0 },
    ]
}

/// The same of the readers of data sets.
fn readers() -> Vec<ReaderError> {
    use ReaderError as K;
    let (format, problem) = ("idx", "is not a number");
    vec![
        K::File {
            path: PathBuf::from("dir/\u{1b}[2Jimages"),
            source: K::from(io::Error::from(io::ErrorKind::NotFound)).into(),
        },
        K::Io(io::ErrorKind::NotFound.into()),
        K::Format {
            format,
            problem: key(),
        },
        K::TooShort {
            format,
            what: "sizes",
            expected: 2,
            found: 1,
        },
        K::TooLong {
            format,
            expected: 1,
        },
        K::Label {
            format,
            sample: 0,
            label: 11,
            classes: 10,
        },
        K::Cell {
            line: 1,
            column: 0,
            name: Some(key()),
            text: key(),
            problem,
        },
        K::Line {
            line: 1,
            problem: key(),
        },
        K::Counts {
            images: 1,
            labels: 2,
        },
    ]
}

/// The same for optimizers and averages that contain text.
fn optimizers() -> Vec<Error> {
    use OptimizerError as K;
    let (paths, op) = (|| vec![key(), key()], "load_torch");
    let optimizers = [
        K::Parameters { paths: paths() },
        K::HalfGradient { path: key() },
        K::NonFinite {
            total: f64::NAN,
            path: Some(key()),
        },
        K::EmptyGroup {
            selection: key(),
            suggestion: Some(key()),
        },
        K::TwoGroups {
            paths: paths(),
            selections: [key(), key()],
        },
        K::TorchState {
            op,
            optimizer: "SGD",
            problem: key(),
        },
    ];
    use AveragingError as A;
    let name = "EMA";
    let averages = [
        A::Tensors {
            name,
            keys: paths(),
        },
        A::Swapped { name, key: key() },
        A::State {
            name,
            missing: paths(),
            unexpected: paths(),
            mismatched: paths(),
        },
    ];
    let averages = averages.map(Error::from).into_iter();
    optimizers
        .map(Error::from)
        .into_iter()
        .chain(averages)
        .collect()
}

/// A new variant is missing here until it is added to the lists too.
fn place_of_adapter(error: &LoraError) -> usize {
    use LoraError as K;
    match error {
        K::NotAdaptable { .. } => 0,
        K::Exists { .. } => 1,
        K::NoSuchAdapter { .. } => 2,
        K::Merged { .. } => 3,
        K::NothingToMerge { .. } => 4,
        K::Weight { .. } => 5,
        K::Together { .. } => 6,
    }
}

fn place_of_configuration(error: &PeftError) -> usize {
    use PeftError as K;
    match error {
        K::Json { .. } => 0,
        K::Field { .. } => 1,
    }
}

fn place_of_data(error: &DataError) -> usize {
    use DataError as K;
    match error {
        K::Index { .. } => 0,
        K::Empty { .. } => 1,
        K::FirstDimension { .. } => 2,
        K::SplitLengths { .. } => 3,
        K::StackLengths { .. } => 4,
        K::Sample { .. } => 5,
        K::Load { .. } => 6,
        K::Collate { .. } => 7,
        K::Panic { .. } => 8,
        K::NoThreads { .. } => 9,
        K::Start { .. } => 10,
        K::Ended { .. } => 11,
    }
}

fn place_of_reader(error: &ReaderError) -> usize {
    use ReaderError as K;
    match error {
        K::File { .. } => 0,
        K::Io(_) => 1,
        K::Format { .. } => 2,
        K::TooShort { .. } => 3,
        K::TooLong { .. } => 4,
        K::Label { .. } => 5,
        K::Cell { .. } => 6,
        K::Line { .. } => 7,
        K::Counts { .. } => 8,
    }
}

/// These errors, each at its index.
fn listed<E>(all: Vec<E>, place: impl Fn(&E) -> usize, count: usize) -> Vec<Error>
where
    Error: From<E>,
{
    let places: Vec<usize> = all.iter().map(place).collect();
    assert_eq!(places, (0..count).collect::<Vec<_>>());
    all.into_iter().map(Error::from).collect()
}

#[test]
fn no_error_contains_control_sequences_or_fills_a_screen() {
    let all = [
        listed(adapters(), place_of_adapter, 7),
        listed(configurations(), place_of_configuration, 2),
        listed(data(), place_of_data, 12),
        listed(readers(), place_of_reader, 9),
        optimizers(),
    ];
    for error in all.into_iter().flatten() {
        let message = error.to_string();
        let steers = |c: char| c.is_control() || c == '\u{202e}';
        assert!(!message.chars().any(steers), "{message:?}");
        assert!(message.chars().count() < 5000, "{}", message.len());
        assert!(message.matches('7').count() <= 16, "{message}");
        if message.contains("kkk") {
            let escaped = r"\u{1b}[2J\n\r\u{9b}\u{202e}kk";
            assert!(message.contains(escaped), "{message}");
            let is_passage = message.chars().count() > 3900;
            assert!(
                is_passage || !message.contains(&"k".repeat(121)),
                "{message}"
            );
        }
    }
}
