//! The README lists the contents of the repository, and the test programs include all files of their folders.
#![allow(clippy::unwrap_used)]

use std::path::Path;

const README: &str = include_str!("../../../README.md");

/// CI runs the examples, so a program that the README quotes in full works.
#[test]
fn the_program_of_the_readme_is_the_example() {
    let example = include_str!("../../../examples/mlp.rs").trim_end();
    assert!(README.contains(&format!("```rust\n{example}\n```")));
    assert!(example.lines().count() < 60);
}

/// CI runs the command that the README promises.
#[test]
fn the_test_command_is_that_of_the_checks() {
    let command = "cargo test --workspace";
    assert!(README.lines().any(|line| line == command));
    assert!(
        include_str!("../../../.ci/run")
            .lines()
            .any(|line| line == command)
    );
}

/// A file without a `mod` line would not be compiled.
#[test]
fn every_file_of_tests_is_a_module() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut mains = vec![tests.join("derive/tests/accepted/main.rs")];
    for folder in std::fs::read_dir(tests.join("tests")).unwrap() {
        mains.push(folder.unwrap().path().join("main.rs"));
    }
    let mut files = 0;
    for main in mains {
        let text = std::fs::read_to_string(&main).unwrap();
        for file in std::fs::read_dir(main.parent().unwrap()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let named = text.lines().any(|line| line == format!("mod {name};"));
            assert!(name == "main" || named, "{} is no module", path.display());
            files += 1;
        }
    }
    assert!(files > 80, "{files} files");
}
