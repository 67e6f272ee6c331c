//! Text in columns.

use std::iter::zip;

/// Rows of cells, each column as wide as its widest cell.
pub(super) struct TextTable {
    widths: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(super) fn new(titles: impl IntoIterator<Item = String>) -> Self {
        let mut table = Self {
            widths: Vec::new(),
            rows: Vec::new(),
        };
        table.push(titles);
        table
    }

    pub(super) fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        self.widths.resize(cells.len().max(self.widths.len()), 0);
        for (width, cell) in zip(&mut self.widths, &cells) {
            *width = cell.chars().count().max(*width);
        }
        self.rows.push(cells);
    }

    /// Of a line, in letters.
    pub(super) fn width(&self) -> usize {
        let gaps = 2 * self.widths.len().saturating_sub(1);
        self.widths.iter().sum::<usize>() + gaps
    }

    /// The titles, with the end of the line.
    pub(super) fn header(&self) -> String {
        self.lines(&self.rows[..1])
    }

    /// The rows, each with the end of its line.
    pub(super) fn body(&self) -> String {
        self.lines(&self.rows[1..])
    }

    fn lines(&self, rows: &[Vec<String>]) -> String {
        let mut text = String::new();
        for row in rows {
            let cells = zip(row, &self.widths).map(|(cell, &width)| format!("{cell:width$}"));
            let line = cells.collect::<Vec<_>>().join("  ");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}
