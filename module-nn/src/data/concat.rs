use module_core::Result;

use super::{DataError, Dataset};

/// Several data sets, one after another: PyTorch's `ConcatDataset`.
///
/// Data sets of different types with the same sample type must be boxed first: `Box<dyn Dataset<Item = T>>`.
///
/// # Example
///
/// ```
/// use module_nn::data::{ConcatDataset, Dataset, DatasetExt};
/// use module_nn::prelude::*;
///
/// let doubled = vec![1, 2].map(|x: i32| Ok(2 * x));
/// let parts: [Box<dyn Dataset<Item = i32>>; 2] = [Box::new(vec![7]), Box::new(doubled)];
/// let all = ConcatDataset::new(parts)?;
/// assert_eq!((all.len(), all.get(0)?, all.get(2)?), (3, 7, 4));
/// let lengths: Vec<usize> = all.datasets().iter().map(|part| part.len()).collect();
/// assert_eq!(lengths, [1, 2]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConcatDataset<D> {
    datasets: Vec<D>,
    /// For each data set, the number of samples up to its end.
    ends: Vec<usize>,
}

impl<D: Dataset> ConcatDataset<D> {
    /// The samples of these data sets in order. Their lengths are read now.
    ///
    /// # Errors
    ///
    /// [`DataError::Empty`] if there is no data set; more samples than fit `usize`.
    pub fn new(datasets: impl Into<Vec<D>>) -> Result<Self> {
        let datasets = datasets.into();
        if datasets.is_empty() {
            let (op, what) = ("concat_dataset", "data sets");
            return Err(DataError::Empty { op, what }.into());
        }
        let mut ends = Vec::with_capacity(datasets.len());
        let mut total = 0_usize;
        for dataset in &datasets {
            let len = dataset.len();
            total = total.checked_add(len).ok_or_else(|| {
                let problem = "the lengths add up to more than can be counted";
                module_core::Error::argument("concat_dataset", "len", len, problem)
            })?;
            ends.push(total);
        }
        Ok(Self { datasets, ends })
    }

    /// The data sets.
    pub fn datasets(&self) -> &[D] {
        &self.datasets
    }
}

impl<D: Dataset> Dataset for ConcatDataset<D> {
    type Item = D::Item;

    fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn get(&self, index: usize) -> Result<D::Item> {
        let number = self.ends.partition_point(|&end| end <= index);
        let before = number
            .checked_sub(1)
            .and_then(|last| self.ends.as_slice().get(last));
        let before = before.copied().unwrap_or(0);
        let dataset = self.datasets.as_slice().get(number).ok_or_else(|| {
            let len = self.len();
            DataError::Index { index, len }
        })?;
        dataset.get(index - before)
    }
}
