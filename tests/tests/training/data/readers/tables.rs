//! CSV files.

use super::*;

#[test]
fn tables_are_read() {
    let (case, tensors) = recorded();
    let table = &case["table"];
    let config = CsvConfig::new().dtype(DType::F64);
    let data = config
        .clone()
        .label("kind", CsvLabels::Classes)
        .load(file("table.csv"))
        .unwrap();
    same(data.numbers(), &tensors, "table.numbers");
    same(data.labels().unwrap(), &tensors, "table.classes");
    assert_eq!(json!(data.classes()), table["classes"]);
    assert_eq!(
        json!(data.names()),
        json!(table["names"].as_array().unwrap()[..3])
    );
    assert_eq!(data.dataset().unwrap().len(), 3);
    let numbers = config
        .clone()
        .header(false)
        .delimiter('\t')
        .load(file("numbers.tsv"))
        .unwrap();
    same(numbers.numbers(), &tensors, "numbers");
    assert!(numbers.dataset().is_err());

    // Columns in another order, by number and name, labels that are whole numbers.
    let data = config
        .clone()
        .columns(["width", "the, length"])
        .label(0, CsvLabels::Integers);
    let data = data.load(file("table.csv")).unwrap();
    assert_eq!(
        data.numbers().to_vec::<f64>().unwrap(),
        [3.5, 5.1, -3e-4, 6.25, 7.0, 0.1]
    );
    assert_eq!(data.labels().unwrap().to_vec::<i64>().unwrap(), [1, 2, 3]);
    let data = config
        .header(false)
        .columns([1])
        .label(0, CsvLabels::Numbers);
    let data = data.read("\u{feff}1,2\n3,nan".as_bytes()).unwrap();
    assert_eq!(data.labels().unwrap().to_vec::<f64>().unwrap(), [1.0, 3.0]);
    assert!(data.numbers().to_vec::<f64>().unwrap()[1].is_nan());
}

#[test]
fn invalid_tables_are_refused() {
    let read = |text: &str| {
        let config = CsvConfig::new().label("y", CsvLabels::Integers);
        config.read(text.as_bytes()).unwrap_err().to_string()
    };
    let cells = [
        (
            "x,y\n1,2\n\n,3\n",
            "csv: line 4, column 0 (`x`): `` is empty; fill it in, or leave the row out",
        ),
        (
            "x,y\n1,\n",
            "csv: line 2, column 1 (`y`): `` is empty; fill it in, or leave the row out",
        ),
        (
            "x,y\n1,2.5\n",
            "csv: line 2, column 1 (`y`): `2.5` is not an integer that int64 holds",
        ),
        (
            "x,y\n\"1\n\",2\none,2\n",
            "csv: line 4, column 0 (`x`): `one` is not a number; leave the column out, or set the delimiter",
        ),
        (
            "x,y\n1,2,3\n",
            "csv: line 2: it has 3 cells, and the first row has 2",
        ),
        (
            "x,y\n1\n",
            "csv: line 2: it has 1 cells, and the first row has 2",
        ),
        (
            "x,y\n1,2\n\"1,2\n",
            "csv: line 3: a quote opens a cell, and none closes it",
        ),
        (
            "x,y\n\"1\"2,2\n",
            "csv: line 2: text follows the quote that closes a cell",
        ),
        (
            "",
            "csv: line 1: it is empty, and its first row would be the header",
        ),
        ("x,z\n", "csv: label = \"y\": the header has [\"x\", \"z\"]"),
        (
            "y,y\n",
            "csv: label = \"y\": columns 0 and 1 have this name; give the number of one",
        ),
    ];
    for (text, expected) in cells {
        assert_eq!(read(text), expected, "{text:?}");
    }
    assert!(read("x,y\n1\"2,3\n").starts_with("csv: line 2: a cell without quotes contains"));
    let config = CsvConfig::new;
    let refused = |config: CsvConfig| config.read(&b"1,2\n"[..]).unwrap_err().to_string();
    assert!(refused(config().delimiter('"')).starts_with("csv: delimiter = '\"'"));
    assert!(refused(config().delimiter('é')).starts_with("csv: delimiter"));
    assert!(refused(config().dtype(DType::U8)).starts_with("csv: dtype = uint8"));
    assert!(refused(config().header(false).columns([2])).contains("there are 2 columns"));
    assert!(refused(config().header(false).columns(["a"])).contains("there is no header"));
    assert!(config().header(false).read(&b"\xff,2\n"[..]).is_err());
    let path = temporary("broken.csv", b"a\nb\n");
    let error = config().load(&path).unwrap_err();
    assert!(
        error.to_string().starts_with(&path.display().to_string()),
        "{error}"
    );
    assert!(matches!(
        problem(&error),
        ReaderError::Cell {
            line: 2,
            column: 0,
            ..
        }
    ));
    std::fs::remove_file(path).unwrap();
}
