//! The table of pitfalls: `rows.tsv` without the names of the tests, which `docs/pitfalls.md` has.

use std::fmt::Write;

const ROWS: &str = include_str!("../../tests/modules/pitfalls/rows.tsv");

#[test]
fn the_table_of_pitfalls_is_that_of_the_tests() {
    let mut table = "\n| # | pitfall | PyTorch | here |\n|---|---|---|---|\n".to_owned();
    for line in ROWS.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        writeln!(table, "| {} |", cells[..4].join(" | ")).unwrap();
    }
    crate::written::check_list("pitfalls", &table);
}
