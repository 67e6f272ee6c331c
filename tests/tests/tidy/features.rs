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

/// The loops of `.ci/run` over features.
#[test]
fn every_feature_is_built_alone() {
    let script = text(".ci/run").replace("\\\n", " ");
    let mut wrong = Vec::new();
    for manifest in Manifest::published() {
        let name = manifest.name();
        let built = format!("-p {name} --no-default-features --features");
        let loops = script
            .split("\ndone")
            .filter(|part| part.contains(&built))
            .filter_map(|part| part.rsplit_once("for features in "))
            .filter_map(|(_, rest)| rest.split_once("; do"));
        let alone: Vec<&str> = loops
            .flat_map(|(list, _)| list.split_whitespace())
            .collect();
        for feature in manifest.features().filter(|name| *name != "default") {
            if !alone.contains(&feature) {
                wrong.push(format!("`{feature}` of {name}"));
            }
        }
    }
    none(&wrong, "features that .ci/run does not build alone");
}
