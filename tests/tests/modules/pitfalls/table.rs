//! `docs/pitfalls.md` lists the tests for each pitfall; it is generated from `rows.tsv`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use module_tests::files::rust_files;

const ROWS: &str = include_str!("rows.tsv");

/// If set, the test rewrites the file.
const WRITE: &str = "WRITE_PITFALLS";

const HEAD: &str = "# Pitfalls

This page lists failures of real networks that PyTorch does not report, or reports late or without a location, and what this
library does about each. The tests of each row prove it; those under `tests/derive/ui/fail` are programs that must not compile,
next to the compiler's message.

`WRITE_PITFALLS=1 cargo test -p module-tests --test modules pitfalls` writes this file from `tests/tests/modules/pitfalls/rows.tsv`.

| # | pitfall | PyTorch | here | tests |
|---|---|---|---|---|
";

struct Row {
    number: u32,
    pitfall: &'static str,
    pytorch: &'static str,
    here: &'static str,
    tests: Vec<&'static str>,
}

fn rows() -> Vec<Row> {
    let lines = ROWS.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [number, pitfall, pytorch, here, tests] = cells[..] else {
            panic!("five cells in `{line}`");
        };
        Row {
            number: number.parse().unwrap(),
            pitfall,
            pytorch,
            here,
            tests: tests.split_whitespace().collect(),
        }
    });
    lines.collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Every test by its name, with its file. A program that must not compile counts as a test if its message is recorded, as
/// does a file about one pitfall that the derive accepts: both are identified by file name.
fn tests() -> BTreeMap<String, String> {
    let folders = [
        "tests",
        "module-tensor",
        "module-core",
        "module-derive",
        "module-nn",
    ];
    let files = folders.map(|folder| rust_files(&root().join(folder)));
    let mut tests = BTreeMap::new();
    for path in files.into_iter().flatten() {
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
        let name = name.replace(std::path::MAIN_SEPARATOR, "/");
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if name.starts_with("tests/derive/ui/fail/") {
            assert!(path.with_extension("stderr").exists(), "{name}");
            tests.insert(stem.to_owned(), name);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let mut marked = false;
        for line in text.lines().map(str::trim_start) {
            match line.strip_prefix("fn ") {
                Some(function) if marked => {
                    let end = function.find('(').unwrap_or(function.len());
                    tests.insert(function[..end].to_owned(), name.clone());
                    if name.starts_with("tests/derive/tests/accepted/pitfall_") {
                        tests.insert(stem.to_owned(), name.clone());
                    }
                    marked = false;
                }
                _ if line == "#[test]" => marked = true,
                // Other attributes and comments may come between.
                _ => marked &= line.starts_with('#') || line.starts_with("//"),
            }
        }
    }
    tests
}

/// The tests of a row, with those of a file together.
fn shown_by(row: &Row, tests: &BTreeMap<String, String>) -> String {
    let mut files: Vec<(&str, Vec<&str>)> = Vec::new();
    for name in &row.tests {
        let file = tests.get(*name);
        let file = file.unwrap_or_else(|| panic!("row {}: there is no test `{name}`", row.number));
        match files.iter_mut().find(|(known, _)| known == file) {
            Some((_, names)) => names.push(name),
            None => files.push((file, vec![name])),
        }
    }
    let cell = |(file, names): &(&str, Vec<&str>)| match names[..] {
        // A file about one thing.
        [name] if file.ends_with(&format!("/{name}.rs")) => format!("[`{name}`](../{file})"),
        _ => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("{} in [{file}](../{file})", names.join(", "))
        }
    };
    let cells: Vec<String> = files.iter().map(cell).collect();
    cells.join("; ")
}

#[test]
fn every_pitfall_is_in_the_table_with_tests_that_exist() {
    let (rows, tests) = (rows(), tests());
    let numbers: Vec<u32> = rows.iter().map(|row| row.number).collect();
    assert!(numbers.iter().copied().eq(1..=63), "{numbers:?}");
    for row in &rows {
        assert!(!row.tests.is_empty(), "row {}", row.number);
        // The number in a test's name is that of its row.
        let prefix = format!("pitfall_{:02}_", row.number);
        let named: BTreeSet<&str> = row.tests.iter().copied().collect();
        let of_row = tests.keys().filter(|name| name.starts_with(&prefix));
        for name in of_row {
            assert!(named.contains(name.as_str()), "`{name}` is in no row");
        }
        assert!(
            row.tests
                .iter()
                .all(|name| name.starts_with(&prefix) || !name.starts_with("pitfall_")),
            "row {}: {named:?}",
            row.number
        );
    }
    let mut text = HEAD.to_owned();
    for row in &rows {
        let Row {
            number,
            pitfall,
            pytorch,
            here,
            ..
        } = row;
        let tests = shown_by(row, &tests);
        writeln!(
            text,
            "| {number} | {pitfall} | {pytorch} | {here} | {tests} |"
        )
        .unwrap();
    }
    let path = root().join("docs/pitfalls.md");
    if std::env::var_os(WRITE).is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(
        committed == text,
        "docs/pitfalls.md differs from the rows; rewrite it: {WRITE}=1 cargo test -p module-tests --test modules pitfalls"
    );
}
