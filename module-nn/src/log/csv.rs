use std::path::{Path, PathBuf};

use module_core::error::quote;
use module_core::{FileError, Result};

use super::Logger;
use super::append::{Append, read};
use super::logger::{STEP, check_names};

/// A comma-separated table: a row for each step, a column for each name.
///
/// The first column is `step`. A new name adds a column at the end, for which the file is rewritten once, atomically; a row
/// without a value has an empty field. Numbers read back bit for bit, and are `NaN`, `inf` and `-inf` if they are not
/// finite. Fields are quoted as in RFC 4180, lines end with a line feed.
///
/// An existing file is continued after its rows; a truncated last row is removed.
///
/// # Example
///
/// ```
/// use module_nn::log::{CSVLogger, Logger};
/// use module_nn::prelude::*;
///
/// let path = std::env::temp_dir().join("doc-logger.csv");
/// # let _ = std::fs::remove_file(&path);
/// let mut log = CSVLogger::new(&path)?;
/// log.log(1, &[("loss", 0.5)])?;
/// log.log(2, &[("loss", 0.25), ("accuracy", 0.9)])?;
/// assert_eq!(std::fs::read_to_string(path).unwrap(), "step,loss,accuracy\n1,0.5,\n2,0.25,0.9\n");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct CSVLogger {
    path: PathBuf,
    columns: Vec<String>,
    file: Append,
}

impl CSVLogger {
    /// Opens or creates a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or written, or whose first column is not `step`.
    pub fn new(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let content = read(path)?;
        let (columns, len) = match split_header(&content) {
            // Not even the header was written completely.
            None => (Vec::new(), 0),
            Some((header, _)) => {
                let columns = fields(header);
                if columns.first().map(String::as_str) != Some(STEP) {
                    let found = columns.first().map_or("", String::as_str);
                    return Err(FileError::Format {
                        path: path.to_owned(),
                        format: "CSV",
                        problem: format!(
                            "the first column of a log is `step`, and here it is `{}`; give another path",
                            quote(found)
                        ),
                    }
                    .into());
                }
                let whole = content.iter().rposition(|&byte| byte == b'\n');
                (columns, whole.map_or(0, |last| last + 1))
            }
        };
        Ok(Self {
            path: path.to_owned(),
            columns,
            file: Append::open(path, len as u64)?,
        })
    }

    /// Rewrites the file with more columns.
    fn widen(&mut self, columns: Vec<String>) -> Result<()> {
        let content = read(&self.path)?;
        let mut wider = header(&columns).into_bytes();
        if let Some((_, rows)) = split_header(&content) {
            let empty = vec![b','; columns.len() - self.columns.len()];
            // Rows are numbers, without quotes.
            for row in rows.split_inclusive(|&byte| byte == b'\n') {
                wider.extend_from_slice(row.trim_ascii_end());
                wider.extend_from_slice(&empty);
                wider.push(b'\n');
            }
        }
        self.file = Append::replace(&self.path, &wider)?;
        self.columns = columns;
        Ok(())
    }
}

impl Logger for CSVLogger {
    fn log(&mut self, step: u64, values: &[(&str, f64)]) -> Result<()> {
        check_names(values)?;
        let known = |name: &str| self.columns.iter().any(|column| column == name);
        let new = values.iter().filter(|(name, _)| !known(name));
        let mut columns = match self.columns.is_empty() {
            true => vec![STEP.to_owned()],
            false => self.columns.clone(),
        };
        columns.extend(new.map(|(name, _)| (*name).to_owned()));
        if columns != self.columns {
            self.widen(columns)?;
        }
        let mut row = step.to_string();
        for column in &self.columns[1..] {
            row.push(',');
            if let Some((_, value)) = values.iter().find(|(name, _)| name == column) {
                row.push_str(&format!("{value:?}"));
            }
        }
        row.push('\n');
        self.file.append(row.as_bytes())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.sync()
    }
}

fn header(columns: &[String]) -> String {
    let columns = columns.iter().map(|column| field(column));
    columns.collect::<Vec<String>>().join(",") + "\n"
}

/// A field, quoted if necessary.
fn field(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// The first record, up to the first line feed outside quotes, and the rest.
fn split_header(content: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut quoted = false;
    let end = content.iter().position(|&byte| {
        quoted ^= byte == b'"';
        byte == b'\n' && !quoted
    })?;
    let (header, rows) = content.split_at(end);
    Some((header, &rows[1..]))
}

/// The fields of a record.
fn fields(record: &[u8]) -> Vec<String> {
    let record = String::from_utf8_lossy(record);
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut letters = record
        .strip_suffix('\r')
        .unwrap_or(&record)
        .chars()
        .peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => letters.next(),
            '"' => {
                quoted = !quoted;
                continue;
            }
            ',' if !quoted => {
                fields.push(String::new());
                continue;
            }
            _ => None,
        };
        if let Some(field) = fields.last_mut() {
            field.push(letter);
        }
    }
    fields
}
