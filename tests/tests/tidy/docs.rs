//! Every file says what it is, and every example in the documentation runs.

use crate::files::{files, none};

/// Files whose documentation is the file beside them with the same name.
fn is_case(path: &str) -> bool {
    path.starts_with("tests/derive/ui/")
}

/// A file begins with `//!`, or has an item of its own name or subject whose documentation says it.
#[test]
fn every_module_is_documented() {
    let rust = files().iter().filter(|file| file.is_rust());
    let wrong: Vec<String> = rust
        .filter(|file| !is_case(&file.path))
        .filter(|file| {
            !file
                .lines()
                .any(|(_, line)| line.starts_with("//!") || line.starts_with("///"))
        })
        .map(|file| file.path.clone())
        .collect();
    none(&wrong, "modules without documentation");
}

/// Code that is shown is compiled and run, or is known not to compile.
#[test]
fn no_example_is_ignored() {
    let mut wrong = Vec::new();
    for file in files() {
        let is_documentation = |line: &str| match file.is_rust() {
            true => line.starts_with("//"),
            false => file.path.ends_with(".md"),
        };
        for (number, line) in file.lines() {
            let line = line.trim_start();
            let fence = line.trim_start_matches(['/', '!', ' ']);
            let tags = fence.strip_prefix("```").filter(|_| is_documentation(line));
            let skipped = |tag: &str| ["ignore", "no_run"].contains(&tag.trim());
            let is_test = line.starts_with("#[ignore") && file.is_rust();
            if is_test || tags.is_some_and(|tags| tags.split(',').any(skipped)) {
                wrong.push(format!("{}:{number}: {line}", file.path));
            }
        }
    }
    none(&wrong, "tests and examples that do not run");
}
