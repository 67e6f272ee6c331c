//! The files of the repository.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A text file, by its path from the root with `/`.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Lines with their numbers.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(i, line)| (i + 1, line))
    }
}

/// Endings of files that people write. Files without an ending are scripts.
const ENDINGS: [&str; 6] = ["md", "py", "rs", "sh", "toml", "yml"];

/// Folders that git ignores, or that hold no files of the repository.
const LEFT_OUT: [&str; 4] = [".git", "artifacts", "corpus", "target"];

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The text of one file.
pub(crate) fn text(path: &str) -> String {
    let text = std::fs::read_to_string(root().join(path));
    text.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every text file that people write, in the order of the paths.
pub(crate) fn files() -> &'static [File] {
    static FILES: OnceLock<Vec<File>> = OnceLock::new();
    FILES.get_or_init(|| {
        let mut paths = Vec::new();
        add(root(), &mut paths);
        paths.sort();
        assert!(paths.len() > 1500, "{} files", paths.len());
        let read = |path: PathBuf| File {
            text: std::fs::read_to_string(&path).unwrap(),
            path: path
                .strip_prefix(root())
                .unwrap()
                .to_str()
                .unwrap()
                .replace(std::path::MAIN_SEPARATOR, "/"),
        };
        paths.into_iter().map(read).collect()
    })
}

fn add(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = entry.file_name();
        let name = name.to_str().unwrap();
        let is_script = folder.file_name().is_some_and(|name| name == ".ci");
        let has_ending = |ending: &&str| path.extension().is_some_and(|e| e == *ending);
        if kind.is_dir() && !LEFT_OUT.contains(&name) {
            add(&path, paths);
        } else if kind.is_file() && (is_script || ENDINGS.iter().any(has_ending)) {
            paths.push(path);
        }
    }
}

/// Fails with the list of what is wrong, if anything is.
#[track_caller]
pub(crate) fn none(wrong: &[String], what: &str) {
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
}
