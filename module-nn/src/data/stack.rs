use module_core::Result;

use super::{DataError, Dataset};

/// Samples of several data sets side by side: PyTorch's `StackDataset`, of a tuple of two to four.
///
/// # Example
///
/// ```
/// use module_nn::data::{Dataset, StackDataset};
///
/// let dataset = StackDataset::new((vec![0.5, 1.5], vec!['a', 'b']))?;
/// assert_eq!(dataset.get(1)?, (1.5, 'b'));
/// assert!(StackDataset::new((vec![1], vec![1, 2])).is_err());
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StackDataset<D> {
    datasets: D,
    len: usize,
}

macro_rules! stacks {
    ($(($first:ident $($name:ident)+))+) => {$(
        impl<$first: Dataset, $($name: Dataset),+> StackDataset<($first, $($name),+)> {
            /// The samples of these data sets side by side.
            ///
            /// # Errors
            ///
            /// Data sets of different lengths ([`DataError::StackLengths`]).
            #[allow(non_snake_case)]
            pub fn new(datasets: ($first, $($name),+)) -> Result<Self> {
                let ($first, $($name),+) = &datasets;
                let lengths = [$first.len(), $($name.len()),+];
                let len = $first.len();
                match lengths.iter().all(|other| *other == len) {
                    true => Ok(Self { datasets, len }),
                    false => Err(DataError::StackLengths { lengths: lengths.to_vec() }.into()),
                }
            }
        }

        impl<$first: Dataset, $($name: Dataset),+> Dataset for StackDataset<($first, $($name),+)> {
            type Item = ($first::Item, $($name::Item),+);

            fn len(&self) -> usize {
                self.len
            }

            #[allow(non_snake_case)]
            fn get(&self, index: usize) -> Result<Self::Item> {
                DataError::check_index(index, self.len)?;
                let ($first, $($name),+) = &self.datasets;
                Ok(($first.get(index)?, $($name.get(index)?),+))
            }
        }
    )+};
}

stacks! { (A B) (A B C) (A B C D) }
