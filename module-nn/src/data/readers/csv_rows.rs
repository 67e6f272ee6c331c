//! The cells of a CSV file: RFC 4180, with any separator, and lines that end with `\n` or `\r\n`.
//!
//! CSV is parsed here because the crates for it accept invalid CSV: they treat a quote inside a cell, or text after a
//! closing quote, as data, which shifts columns silently.

use super::ReaderError;

/// The rows of a text, one after another.
pub(super) struct Rows<'a> {
    rest: &'a [u8],
    delimiter: u8,
    /// The line on which the rest starts, from 1.
    line: usize,
}

/// The cells of one row, and the line on which it starts.
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) cells: Vec<String>,
}

/// The end of a cell.
enum Behind {
    Delimiter,
    EndOfRow,
}

impl<'a> Rows<'a> {
    pub(super) fn new(text: &'a [u8], delimiter: u8) -> Self {
        Self {
            // The byte order mark that some programs write.
            rest: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text),
            delimiter,
            line: 1,
        }
    }

    /// The next row; empty lines do not count.
    pub(super) fn next_row(&mut self) -> Result<Option<Row>, ReaderError> {
        while let Some(rest) = end_of_line(self.rest) {
            (self.rest, self.line) = (rest, self.line + 1);
        }
        if self.rest.is_empty() {
            return Ok(None);
        }
        let line = self.line;
        let mut cells = Vec::new();
        loop {
            let (cell, behind) = self.cell()?;
            cells.push(cell);
            if let Behind::EndOfRow = behind {
                return Ok(Some(Row { line, cells }));
            }
        }
    }

    fn error(&self, problem: &str) -> ReaderError {
        ReaderError::Line {
            line: self.line,
            problem: problem.to_owned(),
        }
    }

    fn cell(&mut self) -> Result<(String, Behind), ReaderError> {
        let bytes = match self.rest.strip_prefix(b"\"") {
            Some(rest) => {
                self.rest = rest;
                self.quoted()?
            }
            None => self.plain()?,
        };
        let text = String::from_utf8(bytes).map_err(|_| self.error("it is not UTF-8 text"))?;
        let behind = match self.rest {
            [first, rest @ ..] if *first == self.delimiter => {
                self.rest = rest;
                Behind::Delimiter
            }
            [] => Behind::EndOfRow,
            _ => match end_of_line(self.rest) {
                Some(rest) => {
                    (self.rest, self.line) = (rest, self.line + 1);
                    Behind::EndOfRow
                }
                None => return Err(self.error("text follows the quote that closes a cell")),
            },
        };
        Ok((text, behind))
    }

    /// A cell without quotes.
    fn plain(&mut self) -> Result<Vec<u8>, ReaderError> {
        let ends = |&byte: &u8| byte == self.delimiter || byte == b'\n';
        let length = self.rest.iter().position(ends).unwrap_or(self.rest.len());
        let (mut cell, mut rest) = self.rest.split_at(length);
        if let (Some(shorter), [b'\n', ..] | []) = (cell.strip_suffix(b"\r"), rest) {
            rest = self.rest.get(shorter.len()..).unwrap_or_default();
            cell = shorter;
        }
        if cell.contains(&b'"') {
            return Err(self.error(
                "a cell without quotes contains a quote; put the cell in quotes and double the quote",
            ));
        }
        self.rest = rest;
        Ok(cell.to_vec())
    }

    /// A cell after its opening quote, in which two quotes stand for one.
    fn quoted(&mut self) -> Result<Vec<u8>, ReaderError> {
        let (start, mut cell) = (self.line, Vec::new());
        loop {
            match self.rest {
                [b'"', b'"', rest @ ..] => {
                    cell.push(b'"');
                    self.rest = rest;
                }
                [b'"', rest @ ..] => {
                    self.rest = rest;
                    return Ok(cell);
                }
                [byte, rest @ ..] => {
                    self.line += usize::from(*byte == b'\n');
                    cell.push(*byte);
                    self.rest = rest;
                }
                [] => {
                    self.line = start;
                    return Err(self.error("a quote opens a cell, and none closes it"));
                }
            }
        }
    }
}

/// The rest of a text after the line ending that it starts with, if it does.
fn end_of_line(text: &[u8]) -> Option<&[u8]> {
    match text {
        [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => Some(rest),
        b"\r" => Some(&[]),
        _ => None,
    }
}
