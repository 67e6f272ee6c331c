//! Parts of pages that the tests write: outputs, and lists from other files.

use std::sync::{Mutex, PoisonError};

use crate::book::folder;

/// If set, the tests write these parts instead of comparing them.
const WRITE: &str = "WRITE_GUIDE";

/// The line after which a page is a list.
const MARK: &str =
    "<!-- From here on, `WRITE_GUIDE=1 cargo test -p module-guide` writes this page. -->\n";

/// Held while a page is changed, because tests run at the same time.
static WRITING: Mutex<()> = Mutex::new(());

pub(crate) fn is_writing() -> bool {
    std::env::var_os(WRITE).is_some()
}

/// A block of a page, and what it should show.
pub(crate) struct Shown {
    /// The page and the line of the opening fence.
    pub(crate) place: &'static str,
    /// What was printed.
    pub(crate) text: String,
}

/// Changes the text of a page.
fn change(name: &str, change: impl FnOnce(&str) -> String) {
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let path = folder().join(format!("{name}.md"));
    let page = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, change(&page)).unwrap();
}

/// Writes what blocks should show.
pub(crate) fn write_blocks(name: &str, blocks: &[Shown]) {
    if blocks.is_empty() {
        return;
    }
    change(name, |page| {
        let mut lines: Vec<&str> = page.lines().collect();
        // From the end, so that lines keep their numbers.
        for Shown { place, text } in blocks.iter().rev() {
            let (_, line) = place.rsplit_once(':').unwrap();
            let start: usize = line.parse().unwrap();
            let end = lines[start..]
                .iter()
                .position(|line| *line == "```")
                .unwrap();
            lines.splice(start..start + end, text.lines());
        }
        lines.join("\n") + "\n"
    });
}

/// Compares the part of a page after the mark with what it should be.
pub(crate) fn check_list(name: &str, list: &str) {
    let path = folder().join(format!("{name}.md"));
    let page = std::fs::read_to_string(path).unwrap();
    let (_, committed) = page
        .split_once(MARK)
        .unwrap_or_else(|| panic!("{name}.md: no mark"));
    if is_writing() {
        change(name, |page| {
            let head = page.split(MARK).next().unwrap_or_default();
            format!("{head}{MARK}{list}")
        });
        return;
    }
    assert!(
        committed == list,
        "docs/src/{name}.md differs from its source; write it: {WRITE}=1 cargo test -p module-guide {name}"
    );
}
