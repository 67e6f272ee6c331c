use module_core::{Error, Result, Tensor};

use super::super::TensorDataset;

/// A column of a table: its number from 0, or its name in the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CsvColumn {
    /// The number, from 0.
    Index(usize),
    /// The name.
    Name(String),
}

impl From<usize> for CsvColumn {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl From<&str> for CsvColumn {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<String> for CsvColumn {
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

/// The content of the label column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CsvLabels {
    /// Integers, which become `I64`.
    #[default]
    Integers,
    /// Class names, which become their positions in the sorted list of all names ([`CsvData::classes`]).
    Classes,
    /// Numbers of the dtype of the other columns, for example for regression.
    Numbers,
}

/// A table that [`CsvConfig`](super::CsvConfig) read.
#[derive(Clone, Debug)]
pub struct CsvData {
    pub(super) names: Vec<String>,
    pub(super) numbers: Tensor,
    pub(super) labels: Option<Tensor>,
    pub(super) classes: Vec<String>,
}

impl CsvData {
    /// The names of the columns that were read; empty strings without a header.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The numbers, `[rows, columns]`.
    pub fn numbers(&self) -> &Tensor {
        &self.numbers
    }

    /// The labels, `[rows]`, if a label column was given.
    pub fn labels(&self) -> Option<&Tensor> {
        self.labels.as_ref()
    }

    /// The class names in order, if labels are [`CsvLabels::Classes`].
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The rows with their labels as a data set.
    ///
    /// # Errors
    ///
    /// A table without labels.
    pub fn dataset(&self) -> Result<TensorDataset<(Tensor, Tensor)>> {
        let labels = self.labels.clone().ok_or_else(|| {
            let problem = "no column of labels was named; set `label`, or use `numbers`";
            Error::argument("csv", "label", "none", problem)
        })?;
        TensorDataset::new((self.numbers.clone(), labels))
    }
}
