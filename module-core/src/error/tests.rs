#![allow(clippy::panic, clippy::unwrap_used)]

use std::io;

use super::{FileError, LoadProblems, Mismatch, ModuleError};
use crate::{Error, Shape};

/// A key from a hostile file: long, and with terminal control characters.
fn key() -> String {
    format!("\u{1b}[2J\n\r\u{9b}\u{202e}{}", "k".repeat(1 << 20))
}

/// A shape that fills a screen.
fn shape() -> Shape {
    vec![7; 100].into()
}

/// Every error of modules, with hostile text wherever it contains text.
fn modules() -> Vec<ModuleError> {
    use ModuleError as K;
    let (op, module) = ("load", "Net");
    let suggestion = || Some(key());
    vec![
        K::NoSuchMember {
            path: key(),
            step: key(),
            module,
            suggestion: suggestion(),
        },
        K::WrongMember {
            path: key(),
            step: key(),
            module,
            found: "buffer",
            expected: "module",
        },
        K::SharedModule {
            path: key(),
            module,
        },
        K::DuplicateKey { key: key(), module },
        K::InvalidKey { op, key: key() },
        K::Pattern {
            pattern: key(),
            problem: key(),
        },
        K::NothingSelected {
            selection: key(),
            suggestion: suggestion(),
            names: vec![key(), key()],
        },
        K::KeyCollision {
            op,
            key: key(),
            first: key(),
            second: key(),
        },
        K::NoSuchKey {
            op,
            key: key(),
            suggestion: suggestion(),
        },
        K::NoInitializer {
            paths: vec![key(), key()],
        },
    ]
}

/// The same of files.
fn files() -> Vec<FileError> {
    use FileError as K;
    let place = std::path::PathBuf::from("dir/\u{1b}[2Jstate");
    let failed = || io::Error::other("no room");
    vec![
        K::File {
            path: place.clone(),
            source: failed(),
        },
        K::NotDurable {
            path: place.clone(),
            source: failed(),
        },
        K::Format {
            path: place.clone(),
            format: "safetensors",
            problem: key(),
        },
        K::NoStateDict {
            path: place,
            format: "safetensors",
            problem: key(),
        },
    ]
}

/// The same of loading.
fn loads() -> Vec<LoadProblems> {
    let module = "Net";
    let mismatch = Mismatch {
        key: key(),
        found: shape(),
        expected: shape(),
    };
    let problems = LoadProblems {
        module,
        missing: vec![key()],
        unexpected: vec![key(), format!("{}.k", key())],
        mismatched: vec![mismatch],
        untied: vec![(key(), key())],
        not_transposed: vec![(key(), module)],
        prefix: Some((key(), key())),
        ..LoadProblems::default()
    };
    let prefixed = LoadProblems {
        module,
        missing: vec!["k".to_owned()],
        unexpected: vec![format!("{}.k", key())],
        ..LoadProblems::default()
    };
    vec![problems, prefixed]
}

/// A new variant is missing here until it is added to [`modules`] too.
fn place_of_module(error: &ModuleError) -> usize {
    use ModuleError as K;
    match error {
        K::NoSuchMember { .. } => 0,
        K::WrongMember { .. } => 1,
        K::SharedModule { .. } => 2,
        K::DuplicateKey { .. } => 3,
        K::InvalidKey { .. } => 4,
        K::Pattern { .. } => 5,
        K::NothingSelected { .. } => 6,
        K::KeyCollision { .. } => 7,
        K::NoSuchKey { .. } => 8,
        K::NoInitializer { .. } => 9,
    }
}

fn place_of_file(error: &FileError) -> usize {
    use FileError as K;
    match error {
        K::File { .. } => 0,
        K::NotDurable { .. } => 1,
        K::Format { .. } => 2,
        K::NoStateDict { .. } => 3,
    }
}

#[test]
fn no_error_contains_control_sequences_or_fills_a_screen() {
    let (modules, files) = (modules(), files());
    let places: Vec<usize> = modules.iter().map(place_of_module).collect();
    assert_eq!(places, (0..10).collect::<Vec<_>>());
    let places: Vec<usize> = files.iter().map(place_of_file).collect();
    assert_eq!(places, (0..4).collect::<Vec<_>>());
    let all = modules.into_iter().map(Error::from);
    let all = all.chain(files.into_iter().map(Error::from));
    for error in all.chain(loads().into_iter().map(Error::from)) {
        let lines = error.downcast_ref::<LoadProblems>().is_some();
        let message = error.to_string();
        // A load report has its own lines.
        let own = |c: char| lines && matches!(c, '\n' | '\t');
        let steers = |c: char| (c.is_control() && !own(c)) || c == '\u{202e}';
        assert!(!message.chars().any(steers), "{message:?}");
        assert!(message.chars().count() < 5000, "{}", message.len());
        assert!(message.matches('7').count() <= 2 * 16, "{message}");
        if message.contains("kkk") {
            assert!(
                message.contains(r"\u{1b}[2J\n\r\u{9b}\u{202e}kk"),
                "{message}"
            );
            let cut = "k".repeat(121);
            let whole_sentence = message.chars().count() > 3900;
            assert!(whole_sentence || !message.contains(&cut), "{message}");
        }
    }
}
