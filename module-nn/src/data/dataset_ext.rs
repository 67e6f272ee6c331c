use module_core::Result;

use super::{ConcatDataset, Dataset, Subset};

/// Methods that make data sets from others.
///
/// # Example
///
/// ```
/// use module_nn::data::{Dataset, DatasetExt};
/// use module_nn::prelude::*;
///
/// let halves = vec![1, 2, 3].map(|x: i32| Ok(f64::from(x) / 2.0));
/// assert_eq!(halves.get(2)?, 1.5);
/// assert_eq!(vec!['a', 'b', 'c'].subset([2, 0])?.get(0)?, 'c');
/// assert_eq!(vec![1, 2].concat(vec![3])?.get(2)?, 3);
/// # Ok::<(), Error>(())
/// ```
pub trait DatasetExt: Dataset + Sized {
    /// The samples with a function applied to each one on loading, like the `transform` of PyTorch's data sets.
    ///
    /// If the function returns an error, so does [`get`](Dataset::get).
    fn map<U, F>(self, function: F) -> MapDataset<Self, F>
    where
        U: Send,
        F: Fn(Self::Item) -> Result<U> + Send + Sync,
    {
        MapDataset {
            dataset: self,
            function,
        }
    }

    /// The samples at these indices, in this order: [`Subset::new`].
    ///
    /// # Errors
    ///
    /// An index that the data set does not have.
    fn subset(self, indices: impl Into<Vec<usize>>) -> Result<Subset<Self>> {
        Subset::new(self, indices)
    }

    /// These samples followed by those of another data set of the same type; [`ConcatDataset::new`] takes more than two.
    ///
    /// # Errors
    ///
    /// More samples than fit `usize`.
    fn concat(self, other: Self) -> Result<ConcatDataset<Self>> {
        ConcatDataset::new([self, other])
    }
}

impl<D: Dataset> DatasetExt for D {}

/// A data set with a function applied to each sample; made by [`DatasetExt::map`].
///
/// # Example
///
/// ```
/// use module_nn::data::{Dataset, DatasetExt, MapDataset};
/// use module_nn::prelude::*;
///
/// fn half(x: i32) -> Result<f64> {
///     Ok(f64::from(x) / 2.0)
/// }
///
/// let halves: MapDataset<Vec<i32>, _> = vec![1, 2, 3].map(half);
/// assert_eq!((halves.len(), halves.get(2)?), (3, 1.5));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MapDataset<D, F> {
    dataset: D,
    function: F,
}

impl<D, F, U> Dataset for MapDataset<D, F>
where
    D: Dataset,
    U: Send,
    F: Fn(D::Item) -> Result<U> + Send + Sync,
{
    type Item = U;

    fn len(&self) -> usize {
        self.dataset.len()
    }

    fn get(&self, index: usize) -> Result<U> {
        (self.function)(self.dataset.get(index)?)
    }
}
