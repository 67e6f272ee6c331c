use module_core::{Error, Result, Tensor};

use super::super::TensorDataset;

/// A column of a table: its number from 0, or its name in the header.
///
/// # Example
///
/// ```
/// use module_nn::data::{CsvColumn, CsvConfig};
/// use module_nn::prelude::*;
///
/// let file = "1;2;3\n4;5;6\n";
/// let config = CsvConfig::new().delimiter(';').header(false).dtype(DType::I64);
/// let data = config.columns([CsvColumn::Index(2), 0.into()]).read(file.as_bytes())?;
/// assert_eq!(data.numbers().to_vec::<i64>()?, [3, 1, 6, 4]);
/// # Ok::<(), Error>(())
/// ```
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
///
/// # Example
///
/// ```
/// use module_nn::data::{CsvConfig, CsvData, CsvLabels, Dataset};
/// use module_nn::prelude::*;
///
/// let file = "x,y,kind\n1,2,b\n3,4,a\n";
/// let config = CsvConfig::new().label("kind", CsvLabels::Classes);
/// let data: CsvData = config.read(file.as_bytes())?;
/// assert_eq!((data.names(), data.classes()), (&["x".into(), "y".into()][..], &["a".into(), "b".into()][..]));
/// assert_eq!(data.labels().unwrap().to_vec::<i64>()?, [1, 0]);
/// assert_eq!(data.dataset()?.get(1)?.0.to_vec::<f32>()?, [3.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
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
