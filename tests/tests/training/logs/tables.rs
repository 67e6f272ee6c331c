//! CSV files and JSON lines.

use std::fs::OpenOptions;
use std::io::Write;

use module_nn::log::{CSVLogger, JSONLinesLogger, Logger};
use module_nn::prelude::*;
use module_tests::files::Scratch;
use serde_json::Value;

const NUMBERS: [f64; 8] = [
    0.1,
    1.0 / 3.0,
    -0.0,
    5e-324,
    1.797_693_134_862_315_7e308,
    1e21,
    123_456_789.125,
    2.0,
];

fn append(path: &Scratch, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn numbers_read_back_to_the_bit() {
    let (csv, lines) = (
        Scratch::new("logs-bits.csv"),
        Scratch::new("logs-bits.jsonl"),
    );
    let mut table = CSVLogger::new(&csv).unwrap();
    let mut json = JSONLinesLogger::new(&lines).unwrap();
    for (step, number) in NUMBERS.into_iter().enumerate() {
        table.log(step as u64, &[("x", number)]).unwrap();
        json.log(step as u64, &[("x", number)]).unwrap();
    }
    table.flush().unwrap();
    let text = csv.text();
    let fields = text
        .lines()
        .skip(1)
        .map(|row| row.split_once(',').unwrap().1);
    let bits = |found: Vec<f64>| found.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    let expected = bits(NUMBERS.to_vec());
    assert_eq!(
        bits(fields.map(|field| field.parse().unwrap()).collect()),
        expected
    );
    let read = |line: &str| {
        serde_json::from_str::<Value>(line).unwrap()["x"]
            .as_f64()
            .unwrap()
    };
    assert_eq!(bits(lines.text().lines().map(read).collect()), expected);
}

#[test]
fn numbers_that_are_not_finite_have_a_text_form() {
    let (csv, lines) = (Scratch::new("logs-nan.csv"), Scratch::new("logs-nan.jsonl"));
    let values = [
        ("a", f64::NAN),
        ("b", f64::INFINITY),
        ("c", f64::NEG_INFINITY),
    ];
    CSVLogger::new(&csv)
        .unwrap()
        .log(u64::MAX, &values)
        .unwrap();
    JSONLinesLogger::new(&lines)
        .unwrap()
        .log(0, &values)
        .unwrap();
    assert_eq!(
        csv.text(),
        "step,a,b,c\n18446744073709551615,NaN,inf,-inf\n"
    );
    assert_eq!(
        lines.text(),
        "{\"step\":0,\"a\":\"NaN\",\"b\":\"Infinity\",\"c\":\"-Infinity\"}\n"
    );
}

#[test]
fn later_columns_are_added_and_rows_without_a_value_are_empty_there() {
    let path = Scratch::new("logs-columns.csv");
    let mut log = CSVLogger::new(&path).unwrap();
    assert_eq!(path.text(), "");
    log.log(1, &[("loss", 1.0), ("lr", 0.5)]).unwrap();
    log.log(2, &[("lr", 0.25)]).unwrap();
    log.log(2, &[("val/accuracy", 0.75), ("loss", 0.5), ("z", 1.0)])
        .unwrap();
    log.log(3, &[("z", 2.0)]).unwrap();
    assert_eq!(
        path.text(),
        "step,loss,lr,val/accuracy,z\n1,1.0,0.5,,\n2,,0.25,,\n2,0.5,,0.75,1.0\n3,,,,2.0\n"
    );
}

#[test]
fn names_are_quoted_by_rfc_4180_and_read_back() {
    let path = Scratch::new("logs-quotes.csv");
    let names = ["a,b", "say \"x\"", "two\nlines", "ä", ""];
    let values: Vec<(&str, f64)> = names.iter().map(|name| (*name, 1.0)).collect();
    CSVLogger::new(&path).unwrap().log(1, &values).unwrap();
    let header = "step,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",ä,";
    assert_eq!(path.text(), format!("{header}\n1,1.0,1.0,1.0,1.0,1.0\n"));
    // Known names add no new column; a new name leaves the existing columns unchanged.
    let mut log = CSVLogger::new(&path).unwrap();
    log.log(2, &values).unwrap();
    log.log(3, &[("more", 5.0)]).unwrap();
    let rows = "1,1.0,1.0,1.0,1.0,1.0,\n2,1.0,1.0,1.0,1.0,1.0,\n3,,,,,,5.0\n";
    assert_eq!(path.text(), format!("{header},more\n{rows}"));

    let lines = Scratch::new("logs-quotes.jsonl");
    JSONLinesLogger::new(&lines)
        .unwrap()
        .log(1, &values)
        .unwrap();
    let line: Value = serde_json::from_str(&lines.text()).unwrap();
    assert!(names.iter().all(|name| line[name] == 1.0), "{line}");
}

#[test]
fn a_file_continues_without_its_truncated_row() {
    let path = Scratch::new("logs-cut.csv");
    CSVLogger::new(&path)
        .unwrap()
        .log(1, &[("loss", 1.0)])
        .unwrap();
    append(&path, b"2,0.");
    let mut log = CSVLogger::new(&path).unwrap();
    log.log(2, &[("loss", 0.5)]).unwrap();
    assert_eq!(path.text(), "step,loss\n1,1.0\n2,0.5\n");
    std::fs::write(&path, "step,lo").unwrap();
    CSVLogger::new(&path)
        .unwrap()
        .log(1, &[("x", 1.0)])
        .unwrap();
    assert_eq!(path.text(), "step,x\n1,1.0\n");
    // As saved by a spreadsheet.
    std::fs::write(&path, "step,x\r\n1,1.0\r\n").unwrap();
    CSVLogger::new(&path)
        .unwrap()
        .log(2, &[("x", 2.0), ("y", 3.0)])
        .unwrap();
    assert_eq!(path.text(), "step,x,y\n1,1.0,\n2,2.0,3.0\n");

    let lines = Scratch::new("logs-cut.jsonl");
    JSONLinesLogger::new(&lines)
        .unwrap()
        .log(1, &[("loss", 1.0)])
        .unwrap();
    append(&lines, b"{\"step\":2,\"lo");
    JSONLinesLogger::new(&lines)
        .unwrap()
        .log(2, &[("loss", 0.5)])
        .unwrap();
    assert_eq!(
        lines.text(),
        "{\"step\":1,\"loss\":1.0}\n{\"step\":2,\"loss\":0.5}\n"
    );
}

#[test]
fn each_row_is_in_the_file_when_the_call_returns() {
    let path = Scratch::new("logs-rows.csv");
    let mut log = CSVLogger::new(&path).unwrap();
    for step in 0..3 {
        log.log(step, &[("x", 0.0)]).unwrap();
        assert_eq!(path.text().lines().count() as u64, step + 2);
    }
}

#[test]
fn names_that_have_no_place_and_files_of_something_else_are_refused() {
    let path = Scratch::new("logs-refused.csv");
    let mut log = CSVLogger::new(&path).unwrap();
    log.log(1, &[("x", 1.0)]).unwrap();
    let error = log.log(2, &[("y", 1.0), ("y", 2.0)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "log: name = y: occurs twice; give each value a name of its own"
    );
    assert!(log.log(2, &[("step", 1.0)]).is_err());
    assert_eq!(path.text(), "step,x\n1,1.0\n");
    std::fs::write(&path, "epoch,x\n1,1.0\n").unwrap();
    let error = CSVLogger::new(&path).unwrap_err();
    assert!(matches!(
        error.downcast_ref(),
        Some(FileError::Format { .. })
    ));
    assert!(error.to_string().contains("`epoch`"), "{error}");
    assert_eq!(path.text(), "epoch,x\n1,1.0\n");
    let nowhere = path.as_ref().join("file.csv");
    assert!(matches!(
        CSVLogger::new(nowhere).unwrap_err().downcast_ref(),
        Some(FileError::File { .. })
    ));
}
