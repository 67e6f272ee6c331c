use module_core::Result;

use super::{DataError, Dataset};

/// Samples of several data sets side by side: PyTorch's `StackDataset`, for a tuple of two to four.
///
/// # Example
///
/// ```
/// use module_nn::data::{Dataset, StackDataset};
///
/// let dataset = StackDataset::new((vec![0.5, 1.5], vec!['a', 'b']))?;
/// assert_eq!(dataset.get(1)?, (1.5, 'b'));
/// assert_eq!(
///     StackDataset::new((vec![1], vec![1, 2])).unwrap_err().to_string(),
///     "stack_dataset: the data sets have [1, 2] samples; the numbers must be equal"
/// );
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StackDataset<D> {
    datasets: D,
    len: usize,
}

impl<D: Stacked> StackDataset<D> {
    /// The samples of these data sets side by side.
    ///
    /// # Errors
    ///
    /// Data sets of different lengths ([`DataError::StackLengths`]).
    pub fn new(datasets: D) -> Result<Self> {
        let lengths = datasets.lengths();
        let len = lengths.first().copied().unwrap_or_default();
        match lengths.iter().all(|other| *other == len) {
            true => Ok(Self { datasets, len }),
            false => Err(DataError::StackLengths { lengths }.into()),
        }
    }
}

impl<D: Stacked> Dataset for StackDataset<D> {
    type Item = D::Sample;

    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, index: usize) -> Result<D::Sample> {
        DataError::check_index(index, self.len)?;
        self.datasets.sample(index)
    }
}

/// The parts of a [`StackDataset`]: a tuple of two to four data sets.
///
/// # Example
///
/// ```
/// use module_nn::data::{Dataset, StackDataset, Stacked};
///
/// let parts = (vec![0.5, 1.5], vec!['a', 'b']);
/// assert_eq!(parts.lengths(), [2, 2]);
/// assert_eq!(parts.sample(1)?, (1.5, 'b'));
/// assert_eq!(StackDataset::new(parts)?.get(0)?, (0.5, 'a'));
/// # Ok::<(), module_nn::Error>(())
/// ```
pub trait Stacked: Send + Sync {
    /// The tuple of a sample from each.
    type Sample: Send;

    /// The number of samples of each.
    fn lengths(&self) -> Vec<usize>;

    /// Sample `index` of each.
    ///
    /// # Errors
    ///
    /// A sample that cannot be loaded.
    fn sample(&self, index: usize) -> Result<Self::Sample>;
}

macro_rules! stacks {
    ($(($($name:ident)+))+) => {$(
        impl<$($name: Dataset),+> Stacked for ($($name,)+) {
            type Sample = ($($name::Item,)+);

            #[allow(non_snake_case)]
            fn lengths(&self) -> Vec<usize> {
                let ($($name,)+) = self;
                vec![$($name.len()),+]
            }

            #[allow(non_snake_case)]
            fn sample(&self, index: usize) -> Result<Self::Sample> {
                let ($($name,)+) = self;
                Ok(($($name.get(index)?,)+))
            }
        }
    )+};
}

stacks! { (A B) (A B C) (A B C D) }
