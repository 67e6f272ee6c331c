//! The changelog has a section for each version.

use crate::files::text;
use crate::manifest::Manifest;

#[test]
fn the_changelog_begins_with_this_version() {
    let version = Manifest::read("")
        .value("workspace.package", "version")
        .unwrap();
    let changelog = text("CHANGELOG.md");
    let mut versions = changelog
        .lines()
        .filter_map(|line| line.strip_prefix("## "));
    let first = versions.next().unwrap();
    let of_this = first.strip_prefix(version);
    let date = of_this.and_then(|rest| rest.strip_prefix(" (")?.strip_suffix(')'));
    let is_date = |date: &str| date.len() == 10 && date.split('-').count() == 3;
    assert!(
        date.is_some_and(|date| date == "unreleased" || is_date(date)),
        "the first section is `{first}` instead of `{version} (unreleased)` or `{version} (YYYY-MM-DD)`"
    );
    // Only the first may be unreleased.
    assert!(versions.all(|version| !version.contains("unreleased")));
}
