//! A page of the guide as its parts: fenced blocks and tables of code.

/// A fenced block.
pub(crate) struct Block<'p> {
    /// The line of the opening fence, from 1.
    pub(crate) line: usize,
    /// The words after the fence, split at commas: `rust`, `file=examples/mlp.rs`.
    pub(crate) info: Vec<&'p str>,
    /// The lines between the fences.
    pub(crate) text: String,
}

impl Block<'_> {
    /// Whether it is in this language.
    pub(crate) fn is(&self, language: &str) -> bool {
        self.info.first() == Some(&language)
    }

    /// The value of `name=value` in the opening fence.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let values = self.info.iter().filter_map(|word| word.split_once('='));
        let mut of_name = values.filter(|(known, _)| *known == name);
        of_name.next().map(|(_, value)| value)
    }
}

/// A row of a table with the columns `PyTorch` and `Rust`.
pub(crate) struct Row<'p> {
    /// Its line, from 1.
    pub(crate) line: usize,
    /// The code in the first column.
    pub(crate) python: Vec<&'p str>,
    /// The code in the second column.
    pub(crate) rust: Vec<&'p str>,
}

/// A part of a page that is code.
pub(crate) enum Part<'p> {
    /// A fenced block.
    Block(Block<'p>),
    /// A row of a table of code.
    Row(Row<'p>),
}

/// The cells of a line of a table; a `|` within code is written `\|`.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim().trim_start_matches('|').trim_end_matches('|');
    let (mut cells, mut start) = (Vec::new(), 0);
    for (at, _) in line.match_indices('|') {
        if !line[..at].ends_with('\\') {
            cells.push(line[start..at].trim());
            start = at + 1;
        }
    }
    cells.push(line[start..].trim());
    cells
}

/// The texts between backticks.
fn codes(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The code on a page, in order. The error says on which line a block is not closed.
pub(crate) fn parts(page: &str) -> Result<Vec<Part<'_>>, String> {
    let (mut parts, mut open, mut in_table) = (Vec::new(), None::<Block<'_>>, false);
    for (line, text) in (1..).zip(page.lines()) {
        match &mut open {
            Some(block) if text == "```" => {
                block.text.truncate(block.text.trim_end_matches('\n').len());
                parts.extend(open.take().map(Part::Block));
            }
            Some(block) => {
                block.text.push_str(text);
                block.text.push('\n');
            }
            None => {
                if let Some(info) = text.strip_prefix("```") {
                    let info = info.split(',').map(str::trim).collect();
                    let text = String::new();
                    open = Some(Block { line, info, text });
                }
                let cells = if text.starts_with('|') {
                    cells(text)
                } else {
                    Vec::new()
                };
                if in_table && !cells.is_empty() && !text.starts_with("|---") {
                    let of_cell = |index: usize| cells.get(index).map(|cell| codes(cell));
                    let [python, rust] = [0, 1].map(|index| of_cell(index).unwrap_or_default());
                    parts.push(Part::Row(Row { line, python, rust }));
                }
                in_table = cells.as_slice() == ["PyTorch", "Rust"] || in_table && !cells.is_empty();
            }
        }
    }
    match open {
        Some(block) => Err(format!("the block of line {} is not closed", block.line)),
        None => Ok(parts),
    }
}
