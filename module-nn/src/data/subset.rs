use module_core::Result;

use super::{DataError, Dataset};

/// Some samples of a data set, by their indices: PyTorch's `Subset`.
///
/// # Example
///
/// ```
/// use module_nn::data::{Dataset, Subset};
/// use module_nn::prelude::*;
///
/// let subset = Subset::new(vec!["a", "b", "c"], [2, 2, 0])?;
/// assert_eq!((subset.len(), subset.get(1)?), (3, "c"));
/// assert_eq!(subset.indices(), [2, 2, 0]);
/// assert!(Subset::new(vec!["a"], [1]).is_err());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Subset<D> {
    dataset: D,
    indices: Vec<usize>,
}

impl<D: Dataset> Subset<D> {
    /// The samples at these indices, in this order; an index may be repeated.
    ///
    /// # Errors
    ///
    /// [`DataError::Index`] for an index that the data set does not have.
    pub fn new(dataset: D, indices: impl Into<Vec<usize>>) -> Result<Self> {
        let (indices, len) = (indices.into(), dataset.len());
        for &index in &indices {
            DataError::check_index(index, len)?;
        }
        Ok(Self { dataset, indices })
    }
}

impl<D> Subset<D> {
    /// The underlying data set.
    pub fn dataset(&self) -> &D {
        &self.dataset
    }

    /// The index of each sample in the data set.
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }
}

impl<D: Dataset> Dataset for Subset<D> {
    type Item = D::Item;

    fn len(&self) -> usize {
        self.indices.len()
    }

    fn get(&self, index: usize) -> Result<D::Item> {
        let len = self.indices.len();
        let found = self.indices.as_slice().get(index);
        let &found = found.ok_or(DataError::Index { index, len })?;
        self.dataset.get(found)
    }
}
