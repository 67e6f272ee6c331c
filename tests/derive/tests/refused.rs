//! The messages of the derives for mistakes.
//!
//! Every file of `ui/fail` is one mistake, named after what it shows, next to the message that a user sees.
//! `TRYBUILD=overwrite cargo test --workspace --test refused` rewrites the messages; read them before committing.

use std::path::Path;
use std::process::Command;

/// Mistakes that appear only where a generic type is used, for which a program must be built and not only checked. They are
/// examples of this package, because cargo has already built everything that they need.
const BUILT: [&str; 3] = [
    "flatten_collides_in_generic",
    "two_training_flags_generic",
    "zero_sized_generic",
];

#[test]
fn mistakes_are_explained() {
    let files = std::fs::read_dir("ui/fail").unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let cases = trybuild::TestCases::new();
    for path in paths {
        let built = BUILT
            .iter()
            .any(|name| path.ends_with(format!("{name}.rs")));
        if path.extension().is_some_and(|ending| ending == "rs") && !built {
            cases.compile_fail(path);
        }
    }
}

/// `ARCHITECTURE.md` says how many messages begin with the compiler's text instead of ours.
#[test]
fn messages_that_begin_with_other_words_are_counted() {
    let files = std::fs::read_dir("ui/fail").unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let messages = paths.filter(|path| path.extension().is_some_and(|ending| ending == "stderr"));
    let (mut all, mut panicked) = (0, 0);
    for path in messages {
        let message = std::fs::read_to_string(path).unwrap();
        all += 1;
        panicked += usize::from(message.starts_with("error[E0080]: evaluation panicked:"));
    }
    let architecture = std::fs::read_to_string("../../ARCHITECTURE.md").unwrap();
    let said = format!("{panicked} of {all} begin with `evaluation panicked:`");
    assert!(architecture.contains(&said), "{said}");
}

#[test]
fn mistakes_in_generic_types_are_explained() {
    for name in BUILT {
        // The same packages as in `cargo test --workspace`, so that all have the same features.
        let output = Command::new(env!("CARGO"))
            .args([
                "build",
                "--workspace",
                "--offline",
                "--quiet",
                "--color=never",
            ])
            .args([
                "--features",
                "module-derive-tests/refused",
                "--example",
                name,
            ])
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{name} compiles");
        let end = said.find("\nFor more information").unwrap_or(said.len());
        let message = said[..end].trim_end().replace("tests/derive/ui", "ui") + "\n";
        let file = Path::new("ui/fail").join(name).with_extension("stderr");
        if std::env::var_os("TRYBUILD").is_some_and(|mode| mode == "overwrite") {
            std::fs::write(&file, &message).unwrap();
        }
        let expected = std::fs::read_to_string(&file).unwrap();
        assert_eq!(message, expected, "{name}:\n{message}");
    }
}
