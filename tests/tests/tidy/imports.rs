//! Dependencies between crates run one way.

use crate::files::{files, none, text};
use crate::manifest::Manifest;

/// The crates of the library, each with those of them that it depends on.
const ARROWS: [(&str, &[&str]); 4] = [
    ("module-tensor", &[]),
    ("module-derive", &[]),
    ("module-core", &["module-derive", "module-tensor"]),
    ("module-nn", &["module-core"]),
];

/// The subjects of the crates above the tensors, which no code of `module-tensor` may mention.
const ABOVE_TENSORS: [&str; 6] = [
    "Parameter",
    "StateDict",
    "Checkpoint",
    "Optimizer",
    "module_core",
    "module_nn",
];

#[test]
fn crates_depend_on_those_below_them_only() {
    for (name, below) in ARROWS {
        let manifest = Manifest::read(name);
        let mut found: Vec<&str> = manifest
            .dependencies()
            .filter(|name| name.starts_with("module-"))
            .collect();
        found.sort_unstable();
        assert_eq!(found, below, "{name}");
    }
}

/// Comments may compare; code may not.
#[test]
fn tensors_know_no_modules() {
    let mut wrong = Vec::new();
    for file in files() {
        if !file.path.starts_with("module-tensor/src/") || !file.is_rust() {
            continue;
        }
        let code = file
            .lines()
            .filter(|(_, l)| !l.trim_start().starts_with("//"));
        for (number, line) in code {
            for word in ABOVE_TENSORS.iter().filter(|word| line.contains(**word)) {
                wrong.push(format!("{}:{number}: {word}: {line}", file.path));
            }
        }
    }
    none(&wrong, "module-tensor names what is above it");
}

#[test]
fn the_architecture_shows_the_arrows() {
    let shown = "`module-tensor` <- `module-core` <- `module-nn`";
    assert!(text("ARCHITECTURE.md").contains(shown));
}
