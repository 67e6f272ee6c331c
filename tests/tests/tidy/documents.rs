//! The documents name files that exist, from the root or from their own folder.

use crate::files::{files, none, root};

/// What a path from the root begins with.
const FOLDERS: [&str; 11] = [
    ".ci/",
    ".github/",
    "benches/",
    "docs/",
    "examples/",
    "fuzz/",
    "module-core/",
    "module-derive/",
    "module-nn/",
    "module-tensor/",
    "tests/",
];

/// The path in a piece of code, if it is one from the root, without a placeholder.
fn path(code: &str) -> Option<&str> {
    let is_path = FOLDERS.iter().any(|folder| code.starts_with(folder));
    let is_exact = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let is_example = code.ends_with("/x.rs");
    (is_path && code.chars().all(is_exact) && !is_example).then_some(code)
}

#[test]
fn every_file_that_a_document_names_exists() {
    let documents = files().iter().filter(|file| file.path.ends_with(".md"));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in documents {
        let beside = root().join(&file.path);
        let beside = beside.parent().unwrap();
        for (number, line) in file.lines() {
            let code = line.split('`').skip(1).step_by(2);
            for path in code.filter_map(path) {
                count += 1;
                if !root().join(path).exists() && !beside.join(path).exists() {
                    wrong.push(format!("{}:{number}: {path}", file.path));
                }
            }
        }
    }
    assert!(count > 100, "{count} paths");
    none(&wrong, "documents name files that do not exist");
}
