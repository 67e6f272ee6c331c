//! This crate knows only tensors: no modules, module hooks, state dicts or checkpoints.
#![allow(clippy::unwrap_used)]

use std::path::Path;

/// The crates of this workspace that build on tensors.
const ABOVE: [&str; 3] = ["module-core", "module-nn", "module-derive"];

/// The subjects of those crates, which no code here may mention.
const WORDS: [&str; 6] = [
    "Parameter",
    "StateDict",
    "Checkpoint",
    "Optimizer",
    "module_core",
    "module_nn",
];

fn files(folder: &Path, all: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, all);
        } else if path.extension().is_some_and(|end| end == "rs") {
            all.push(path);
        }
    }
}

#[test]
fn no_arrow_runs_to_the_crates_above() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    for name in ABOVE {
        assert!(!manifest.contains(name), "Cargo.toml names {name}");
    }
    let mut sources = Vec::new();
    files(&root.join("src"), &mut sources);
    assert!(sources.len() > 100, "{} sources", sources.len());
    for path in sources {
        let text = std::fs::read_to_string(&path).unwrap();
        // Comments may compare; code may not.
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for (i, line) in code.enumerate() {
            for word in WORDS {
                let named = line.contains(word);
                assert!(
                    !named,
                    "{}: code line {i} names {word}: {line}",
                    path.display()
                );
            }
        }
    }
}
