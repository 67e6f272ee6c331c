//! Pages whose last part is written by a test.

use crate::book::folder;

/// If set, the tests rewrite these parts.
const WRITE: &str = "WRITE_GUIDE";

/// The line after which a page is written.
const MARK: &str =
    "<!-- From here on, `WRITE_GUIDE=1 cargo test -p module-guide` writes this page. -->\n";

/// Compares the part of a page after the mark with what it should be.
pub(crate) fn check(name: &str, written: &str) {
    let path = folder().join(format!("{name}.md"));
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, committed) = page
        .split_once(MARK)
        .unwrap_or_else(|| panic!("{name}.md: no mark"));
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, format!("{head}{MARK}{written}")).unwrap();
        return;
    }
    assert!(
        committed == written,
        "docs/src/{name}.md differs from its source; rewrite it: {WRITE}=1 cargo test -p module-guide {name}"
    );
}
