//! Every feature is documented, and built without the others.

use crate::files::{none, text};
use crate::manifest::Manifest;

#[test]
fn every_feature_is_documented() {
    let mut wrong = Vec::new();
    for manifest in Manifest::published() {
        let readme = text(&format!("{}/README.md", manifest.folder));
        for feature in manifest.features().filter(|name| *name != "default") {
            if !readme.contains(&format!("`{feature}`")) {
                wrong.push(format!("{}/README.md has no `{feature}`", manifest.folder));
            }
        }
    }
    none(&wrong, "features without documentation");
}

/// The calls of `.ci/lint`, which name a package and each of its features.
#[test]
fn every_feature_is_built_alone() {
    let scripts = text(".ci/run") + &text(".ci/aside");
    let mut wrong = Vec::new();
    for manifest in Manifest::published() {
        let name = manifest.name();
        let call = format!(".ci/lint {name} ");
        let calls = scripts
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix(&call));
        let alone: Vec<&str> = calls.flat_map(str::split_whitespace).collect();
        for feature in manifest.features().filter(|name| *name != "default") {
            if !alone.contains(&feature) {
                wrong.push(format!("`{feature}` of {name}"));
            }
        }
    }
    none(&wrong, "features that CI does not build alone");
}
