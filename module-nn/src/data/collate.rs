use module_core::Result;

use super::Sample;

/// Makes one batch from samples: PyTorch's `collate_fn`.
///
/// A function of a `Vec` of samples implements it.
///
/// # Example
///
/// ```
/// use module_nn::data::Collate;
/// use module_nn::prelude::*;
///
/// let longest = |samples: Vec<Vec<f32>>| Ok(samples.iter().map(Vec::len).max().unwrap_or(0));
/// assert_eq!(longest.collate(vec![vec![0.5], vec![1.0, 2.0]])?, 2);
/// # Ok::<(), Error>(())
/// ```
pub trait Collate<Item>: Send + Sync {
    /// The type of a batch.
    type Batch: Send;

    /// The batch of these samples.
    ///
    /// # Errors
    ///
    /// Samples that cannot be combined.
    fn collate(&self, samples: Vec<Item>) -> Result<Self::Batch>;
}

impl<Item, Batch, F> Collate<Item> for F
where
    Batch: Send,
    F: Fn(Vec<Item>) -> Result<Batch> + Send + Sync,
{
    type Batch = Batch;

    fn collate(&self, samples: Vec<Item>) -> Result<Batch> {
        self(samples)
    }
}

/// PyTorch's `default_collate`: stacks tensors and numbers, in tuples, lists and maps; [`Sample`] describes the result for
/// each type.
///
/// # Example
///
/// ```
/// use module_nn::data::{Collate, DefaultCollate};
/// use module_nn::prelude::*;
///
/// let (x, y) = DefaultCollate.collate(vec![(0.5_f32, true), (1.5, false)])?;
/// assert_eq!((x.to_vec::<f32>()?, y.to_vec::<bool>()?), (vec![0.5, 1.5], vec![true, false]));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultCollate;

impl<Item: Sample> Collate<Item> for DefaultCollate {
    type Batch = Item::Batch;

    fn collate(&self, samples: Vec<Item>) -> Result<Item::Batch> {
        Item::collate(samples)
    }
}
