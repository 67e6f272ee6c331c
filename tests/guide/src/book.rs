//! The pages and their order.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::page::{Part, parts};
use crate::values::RECORDED;

/// A page of the guide.
pub(crate) struct Page {
    /// The name of its file, without the ending.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src")
}

/// All pages, without the table of contents.
pub(crate) fn pages() -> Vec<Page> {
    let files = std::fs::read_dir(folder())
        .unwrap()
        .map(|file| file.unwrap().path());
    let pages = files.filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_suffix(".md")?.to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        (name != "SUMMARY").then_some(Page { name, text })
    });
    pages.collect()
}

/// The targets of the links of a text, outside of code.
fn links(text: &str) -> Vec<&str> {
    let (mut links, mut in_code) = (Vec::new(), false);
    for line in text.lines() {
        in_code ^= line.starts_with("```");
        if !in_code {
            let after = line.split("](").skip(1);
            links.extend(after.filter_map(|rest| Some(rest.split_once(')')?.0)));
        }
    }
    links
}

#[test]
fn the_contents_list_every_page_once() {
    let summary = std::fs::read_to_string(folder().join("SUMMARY.md")).unwrap();
    let listed = links(&summary);
    let names: BTreeSet<String> = pages().into_iter().map(|page| page.name + ".md").collect();
    let unique: BTreeSet<String> = listed.iter().map(|&link| link.to_owned()).collect();
    assert_eq!(unique, names);
    assert_eq!(listed.len(), names.len());
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    for page in pages() {
        for link in links(&page.text) {
            if link.starts_with("https://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let path = match file {
                "" => folder().join(format!("{}.md", page.name)),
                file => folder().join(file),
            };
            assert!(path.exists(), "{}.md: {link} leads nowhere", page.name);
            // mdbook would change its ending to `.html`.
            let is_rewritten = file.starts_with("..") && file.ends_with(".md");
            assert!(!is_rewritten, "{}.md: {link}: link its folder", page.name);
            if !heading.is_empty() {
                let text = std::fs::read_to_string(&path).unwrap();
                let found = text
                    .lines()
                    .any(|line| anchor(line).as_deref() == Some(heading));
                assert!(found, "{}.md: {link} leads to no heading", page.name);
            }
        }
    }
}

/// The anchor of a heading, as mdbook and GitHub form it.
fn anchor(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').trim();
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
}

/// Each page begins with its title and one sentence about what the reader can do afterwards.
#[test]
fn every_page_begins_with_a_title_and_a_sentence() {
    for page in pages() {
        let mut lines = page.text.lines();
        let title = lines.next().unwrap_or_default();
        assert!(title.starts_with("# "), "{}.md has no title", page.name);
        assert_eq!(lines.next(), Some(""), "{}.md", page.name);
        let first: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
        let first = first.join(" ");
        let starts = first.starts_with("After reading this page, you can ");
        assert!(starts && first.ends_with('.'), "{}.md: {first}", page.name);
        assert!(!first.contains(". "), "{}.md: {first}", page.name);
    }
}

/// PyTorch's values were recorded for the rows that the pages have.
#[test]
fn every_recorded_value_belongs_to_a_row() {
    let (pages, mut rows) = (pages(), BTreeSet::new());
    for page in &pages {
        for part in parts(&page.text).unwrap() {
            if let Part::Row(row) = part {
                assert!(!row.rust.is_empty(), "{}.md:{}", page.name, row.line);
                rows.insert(row.python.join("\n"));
            }
        }
    }
    assert!(
        RECORDED.keys().all(|row| rows.contains(row)),
        "run tests/golden/guide.py"
    );
    assert_eq!(RECORDED.len(), rows.len());
}
