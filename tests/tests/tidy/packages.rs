//! The packages can be published, and each is complete on its own.

use crate::files::{none, root, text};
use crate::manifest::Manifest;

/// The registry accepts at most so many keywords, and so many characters in each.
const KEYWORDS: usize = 5;
const KEYWORD_LENGTH: usize = 20;

#[test]
fn every_package_says_what_it_is() {
    let mut wrong = Vec::new();
    for manifest in Manifest::published() {
        let name = manifest.name();
        for key in [
            "description",
            "license",
            "rust-version",
            "categories",
            "keywords",
        ] {
            if !manifest.has(key) {
                wrong.push(format!("{name} has no {key}"));
            }
        }
        let keywords = manifest.value("package", "keywords").unwrap_or_default();
        let keywords: Vec<&str> = keywords.split('"').skip(1).step_by(2).collect();
        if keywords.len() > KEYWORDS || keywords.iter().any(|word| word.len() > KEYWORD_LENGTH) {
            wrong.push(format!(
                "{name}: the registry refuses the keywords {keywords:?}"
            ));
        }
    }
    none(&wrong, "packages");
}

/// Copies and not links, which not every system that reads a package or a checkout has.
#[test]
fn every_package_has_the_licenses_and_a_readme() {
    for manifest in Manifest::published() {
        let folder = &manifest.folder;
        for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let path = format!("{folder}/{license}");
            assert_eq!(text(&path), text(license), "{path}");
            let kind = std::fs::symlink_metadata(root().join(&path)).unwrap();
            assert!(kind.is_file(), "{path} is a link");
        }
        let readme = text(&format!("{folder}/README.md"));
        let title = format!("# {}\n", manifest.name());
        assert!(readme.starts_with(&title), "{folder}/README.md");
    }
}

/// A package is built from its own folder alone.
#[test]
fn no_package_includes_a_file_from_outside() {
    let mut wrong = Vec::new();
    for manifest in Manifest::published() {
        let source = format!("{}/src/", manifest.folder);
        let sources = crate::files::files().iter();
        for file in sources.filter(|f| f.path.starts_with(&source) && f.is_rust()) {
            // The folders between the file and the folder of the package.
            let depth = file.path.matches('/').count() - 1;
            let out = "../".repeat(depth + 1);
            for (number, line) in file.lines() {
                if line.contains("include_") && line.contains(&out) {
                    wrong.push(format!("{}:{number}: {line}", file.path));
                }
            }
        }
    }
    none(&wrong, "files outside a package");
}

/// `.ci/template` packs them in the order in which they can be published.
#[test]
fn every_package_is_packed_by_the_checks() {
    let script = text(".ci/template");
    let list = script.lines().find(|line| line.starts_with("packages=("));
    let list = list.unwrap().trim_start_matches("packages=(");
    let packed: Vec<&str> = list.trim_end_matches(')').split(' ').collect();
    for manifest in Manifest::published() {
        let name = manifest.name();
        assert!(packed.contains(&name), ".ci/template does not pack {name}");
    }
}
