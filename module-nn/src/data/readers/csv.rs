use std::collections::BTreeSet;
use std::io::Read;

#[cfg(feature = "fs")]
use module_core::checkpoint::open_regular;
use module_core::{DType, Error, Result, Tensor};

use super::ReaderError;
use super::csv_data::{CsvColumn, CsvData, CsvLabels};
use super::csv_rows::{Row, Rows};

const OP: &str = "csv";

/// Options for reading a table of numbers from a CSV file (RFC 4180): cells may be quoted, lines end with `\n` or `\r\n`,
/// empty lines are skipped.
///
/// | argument | default | meaning |
/// |---|---|---|
/// | `delimiter` | `,` | the separator of cells |
/// | `header` | `true` | whether the first row names the columns |
/// | `columns` | all but the label | which columns are read, in this order |
/// | `label` | | the label column, and what it holds |
/// | `dtype` | `F32` | the dtype of the numbers: `F32`, `F64` or `I64` |
///
/// Numbers may have spaces around them; `nan` and `inf` are numbers, an empty cell is an error.
///
/// # Example
///
/// ```
/// use module_nn::data::{CsvConfig, CsvLabels, Dataset};
///
/// let file = "length,width,kind\n5.1,3.5,setosa\n6.2,3.4,virginica\n";
/// let data = CsvConfig::new().label("kind", CsvLabels::Classes).read(file.as_bytes())?;
/// assert_eq!(data.numbers().to_vec::<f32>()?, [5.1, 3.5, 6.2, 3.4]);
/// assert_eq!((data.names(), data.classes()), (&["length".to_owned(), "width".to_owned()][..], &["setosa".to_owned(), "virginica".to_owned()][..]));
/// let (x, y) = data.dataset()?.get(1)?;
/// assert_eq!((x.to_vec::<f32>()?, y.item::<i64>()?), (vec![6.2, 3.4], 1));
///
/// let broken = CsvConfig::new().read("a,b\n1,2\n3,\n".as_bytes()).unwrap_err();
/// assert_eq!(broken.to_string(), "csv: line 3, column 1 (`b`): `` is empty; fill it in, or leave the row out");
/// # #[cfg(feature = "fs")]
/// assert!(CsvConfig::new().load("missing.csv").unwrap_err().to_string().contains("missing.csv"));
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct CsvConfig {
    delimiter: char,
    header: bool,
    columns: Option<Vec<CsvColumn>>,
    label: Option<(CsvColumn, CsvLabels)>,
    dtype: DType,
}

impl Default for CsvConfig {
    fn default() -> Self {
        Self {
            delimiter: ',',
            header: true,
            columns: None,
            label: None,
            dtype: DType::F32,
        }
    }
}

impl CsvConfig {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The separator of cells: an ASCII character other than a quote or a line ending.
    pub fn delimiter(mut self, delimiter: char) -> Self {
        self.delimiter = delimiter;
        self
    }

    /// Whether the first row names the columns.
    pub fn header(mut self, header: bool) -> Self {
        self.header = header;
        self
    }

    /// Which columns are read, in this order.
    pub fn columns(mut self, columns: impl IntoIterator<Item = impl Into<CsvColumn>>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// The label column, and what it holds.
    pub fn label(mut self, column: impl Into<CsvColumn>, labels: CsvLabels) -> Self {
        self.label = Some((column.into(), labels));
        self
    }

    /// The dtype of the numbers: `F32`, `F64` or `I64`.
    pub fn dtype(mut self, dtype: DType) -> Self {
        self.dtype = dtype;
        self
    }

    /// Reads a table.
    ///
    /// # Errors
    ///
    /// [`ReaderError`]: a cell that is empty or not a number ([`ReaderError::Cell`], with line and column); a row whose
    /// length differs from the first one's, a misplaced quote, text that is not UTF-8 ([`ReaderError::Line`]). A column
    /// that does not exist, or whose name occurs twice in the header; an unsupported dtype or delimiter.
    pub fn read(&self, reader: impl Read) -> Result<CsvData> {
        self.read_any(&mut { reader })
    }

    /// Reads a table from a file.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read), anything but a regular file, those of the operating system; with the path.
    #[cfg(feature = "fs")]
    pub fn load(&self, path: impl AsRef<std::path::Path>) -> Result<CsvData> {
        let path = path.as_ref();
        let file = open_regular(path).map_err(ReaderError::Io);
        let mut file = file.map_err(|error| error.of_file(path))?;
        self.read_any(&mut file).map_err(|error| {
            let of_file = |error: ReaderError| error.of_file(path).into();
            match error.into_kind() {
                module_core::ErrorKind::Custom(error) => match error.downcast::<ReaderError>() {
                    Ok(error) => of_file(*error),
                    Err(error) => Error::new(module_core::ErrorKind::Custom(error)),
                },
                kind => Error::new(kind),
            }
        })
    }

    fn read_any(&self, reader: &mut dyn Read) -> Result<CsvData> {
        let delimiter = u8::try_from(self.delimiter).ok().filter(u8::is_ascii);
        let Some(delimiter) = delimiter.filter(|byte| !matches!(byte, b'"' | b'\n' | b'\r')) else {
            let problem = "must be an ASCII character other than a quote and the ends of lines";
            return Err(Error::argument(
                OP,
                "delimiter",
                format_args!("{:?}", self.delimiter),
                problem,
            ));
        };
        if !matches!(self.dtype, DType::F32 | DType::F64 | DType::I64) {
            let problem = "must be float32, float64 or int64; cast the tensor afterwards";
            return Err(Error::argument(OP, "dtype", self.dtype, problem));
        }
        let mut text = Vec::new();
        reader.read_to_end(&mut text).map_err(ReaderError::Io)?;
        let mut rows = Rows::new(&text, delimiter);
        let mut next = rows.next_row()?;
        let names = match (self.header, next) {
            (true, Some(header)) => {
                next = rows.next_row()?;
                let names = header.cells.iter().map(|name| name.trim().to_owned());
                Some(names.collect::<Vec<_>>())
            }
            (true, None) => {
                let problem = "it is empty, and its first row would be the header".to_owned();
                return Err(ReaderError::Line { line: 1, problem }.into());
            }
            (false, first) => {
                next = first;
                None
            }
        };
        let width = names.as_ref().map(Vec::len);
        let width = width
            .or(next.as_ref().map(|row| row.cells.len()))
            .unwrap_or(0);
        let header = Header { names, width };
        let (columns, label) = self.chosen(&header)?;

        let mut table = Table::new(self.dtype, columns.len());
        let mut labels = Vec::new();
        while let Some(row) = next {
            header.check_width(&row)?;
            for &column in &columns {
                table.numbers.push(&header, &row, column)?;
            }
            if let Some(column) = label {
                labels.push((row.line, row.cells.get(column).cloned().unwrap_or_default()));
            }
            table.rows += 1;
            next = rows.next_row()?;
        }
        let (mut classes, mut made) = (Vec::new(), None);
        if let (Some((_, kind)), Some(column)) = (&self.label, label) {
            (made, classes) = match kind {
                CsvLabels::Classes => {
                    let (labels, classes) = by_class(&header, column, labels)?;
                    (Some(labels), classes)
                }
                CsvLabels::Integers => (
                    Some(column_of(DType::I64, &header, column, labels)?),
                    classes,
                ),
                CsvLabels::Numbers => (
                    Some(column_of(self.dtype, &header, column, labels)?),
                    classes,
                ),
            };
        }
        let name = |&column: &usize| header.name(column).unwrap_or_default();
        Ok(CsvData {
            names: columns.iter().map(name).collect(),
            numbers: table.numbers.into_tensor([table.rows, table.columns])?,
            labels: made,
            classes,
        })
    }

    /// The numbers of the columns to read, and of the label column.
    fn chosen(&self, header: &Header) -> Result<(Vec<usize>, Option<usize>)> {
        let label = self.label.as_ref();
        let label = label
            .map(|(column, _)| header.find("label", column))
            .transpose()?;
        let columns = match &self.columns {
            Some(columns) => {
                let columns = columns.iter().map(|column| header.find("columns", column));
                columns.collect::<Result<_>>()?
            }
            None => (0..header.width)
                .filter(|column| Some(*column) != label)
                .collect(),
        };
        Ok((columns, label))
    }
}

/// The known facts about the columns.
struct Header {
    names: Option<Vec<String>>,
    width: usize,
}

impl Header {
    fn name(&self, column: usize) -> Option<String> {
        self.names.as_ref()?.get(column).cloned()
    }

    fn find(&self, argument: &'static str, column: &CsvColumn) -> Result<usize> {
        let refuse = |problem: String| match column {
            CsvColumn::Index(index) => Err(Error::argument(OP, argument, index, problem)),
            CsvColumn::Name(name) => Err(Error::argument(
                OP,
                argument,
                format_args!("{name:?}"),
                problem,
            )),
        };
        let name = match column {
            CsvColumn::Index(index) if *index < self.width => return Ok(*index),
            CsvColumn::Index(_) => {
                return refuse(format!("there are {} columns, counted from 0", self.width));
            }
            CsvColumn::Name(name) => name,
        };
        let Some(names) = &self.names else {
            return refuse("there is no header; give the number of the column".to_owned());
        };
        let mut found = names.iter().enumerate().filter(|(_, other)| *other == name);
        match (found.next(), found.next()) {
            (Some((index, _)), None) => Ok(index),
            (Some((first, _)), Some((second, _))) => refuse(format!(
                "columns {first} and {second} have this name; give the number of one"
            )),
            (None, _) => refuse(format!("the header has {names:?}")),
        }
    }

    fn check_width(&self, row: &Row) -> Result<(), ReaderError> {
        let (found, expected) = (row.cells.len(), self.width);
        match found == expected {
            true => Ok(()),
            false => Err(ReaderError::Line {
                line: row.line,
                problem: format!("it has {found} cells, and the first row has {expected}"),
            }),
        }
    }

    fn refuse(&self, line: usize, column: usize, text: &str, problem: &'static str) -> ReaderError {
        ReaderError::Cell {
            line,
            column,
            name: self.name(column),
            text: text.to_owned(),
            problem,
        }
    }
}

const EMPTY: &str = "is empty; fill it in, or leave the row out";

struct Table {
    rows: usize,
    columns: usize,
    numbers: Numbers,
}

impl Table {
    fn new(dtype: DType, columns: usize) -> Self {
        Self {
            rows: 0,
            columns,
            numbers: Numbers::new(dtype),
        }
    }
}

enum Numbers {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I64(Vec<i64>),
}

impl Numbers {
    fn new(dtype: DType) -> Self {
        match dtype {
            DType::F32 => Self::F32(Vec::new()),
            DType::F64 => Self::F64(Vec::new()),
            _ => Self::I64(Vec::new()),
        }
    }

    fn push(&mut self, header: &Header, row: &Row, column: usize) -> Result<(), ReaderError> {
        let text = row.cells.get(column).map_or("", String::as_str);
        self.push_text(text)
            .map_err(|problem| header.refuse(row.line, column, text, problem))
    }

    fn push_text(&mut self, text: &str) -> Result<(), &'static str> {
        let text = text.trim();
        if text.is_empty() {
            return Err(EMPTY);
        }
        let problem = "is not a number; leave the column out, or set the delimiter";
        match self {
            Self::F32(all) => all.push(text.parse().map_err(|_| problem)?),
            Self::F64(all) => all.push(text.parse().map_err(|_| problem)?),
            Self::I64(all) => {
                all.push(
                    text.parse()
                        .map_err(|_| "is not an integer that int64 holds")?,
                );
            }
        }
        Ok(())
    }

    fn into_tensor(self, shape: impl Into<module_core::Shape>) -> Result<Tensor> {
        match self {
            Self::F32(all) => Tensor::from_vec(all, shape),
            Self::F64(all) => Tensor::from_vec(all, shape),
            Self::I64(all) => Tensor::from_vec(all, shape),
        }
    }
}

/// Numeric labels.
fn column_of(
    dtype: DType,
    header: &Header,
    column: usize,
    labels: Vec<(usize, String)>,
) -> Result<Tensor> {
    let (mut numbers, count) = (Numbers::new(dtype), labels.len());
    for (line, text) in labels {
        let pushed = numbers.push_text(&text);
        pushed.map_err(|problem| header.refuse(line, column, &text, problem))?;
    }
    numbers.into_tensor(count)
}

/// Named labels, and all names in order.
fn by_class(
    header: &Header,
    column: usize,
    labels: Vec<(usize, String)>,
) -> Result<(Tensor, Vec<String>)> {
    if let Some((line, text)) = labels.iter().find(|(_, name)| name.trim().is_empty()) {
        return Err(header.refuse(*line, column, text, EMPTY).into());
    }
    let names = || labels.iter().map(|(_, name)| name.trim());
    let classes: BTreeSet<&str> = names().collect();
    let classes: Vec<&str> = classes.into_iter().collect();
    let number = |name| classes.binary_search(&name).unwrap_or_default() as i64;
    let numbers: Vec<i64> = names().map(number).collect();
    let classes = classes.into_iter().map(str::to_owned).collect();
    Ok((Tensor::from(numbers), classes))
}
