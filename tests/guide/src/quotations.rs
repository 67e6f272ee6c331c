//! Blocks that quote a file (`file=…`) are what the file says.

use std::path::Path;

use crate::book::{Page, pages};
use crate::page::{Block, Part, parts};

/// Pages whose quotations, in order, are a whole file.
const WHOLE: [(&str, &str); 1] = [("porting", "examples/models/bert.rs")];

fn blocks(page: &Page) -> Vec<Block<'_>> {
    let parts = parts(&page.text).expect("closed blocks").into_iter();
    let blocks = parts.filter_map(|part| match part {
        Part::Block(block) => Some(block),
        Part::Row(_) => None,
    });
    blocks.collect()
}

fn read(file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn quotations_match_the_files() {
    let mut count = 0;
    for page in pages() {
        for block in blocks(&page) {
            let Some(file) = block.value("file") else {
                continue;
            };
            let (name, line) = (&page.name, block.line);
            let found = read(file).contains(&block.text);
            assert!(found, "docs/src/{name}.md:{line} is not in {file}");
            count += 1;
        }
    }
    assert!(count > 10, "{count} quotations");
}

/// A program that must not compile is quoted from the tests of the derive, with its message.
#[test]
fn programs_that_must_not_compile_are_tests() {
    for page in pages() {
        for block in blocks(&page) {
            if block.info.contains(&"compile_fail") {
                let file = block.value("file").unwrap_or_default();
                let (name, line) = (&page.name, block.line);
                let is_test = block.is("rust") && file.starts_with("tests/derive/ui/fail/");
                assert!(is_test, "docs/src/{name}.md:{line} is not a test");
            }
        }
    }
}

#[test]
fn a_file_that_a_page_explains_is_there_as_a_whole() {
    for (name, file) in WHOLE {
        let page = pages().into_iter().find(|page| page.name == name);
        let page = page.unwrap_or_else(|| panic!("there is no page {name}"));
        let blocks = blocks(&page);
        let texts = blocks
            .iter()
            .filter(|block| block.value("file") == Some(file));
        let texts: Vec<&str> = texts.map(|block| block.text.as_str()).collect();
        let same = texts.join("\n\n") + "\n" == read(file);
        assert!(
            same,
            "docs/src/{name}.md leaves out or changes a part of {file}"
        );
    }
}
