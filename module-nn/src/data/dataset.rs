use std::sync::Arc;

use module_core::Result;

use super::DataError;

/// Samples by index: PyTorch's `Dataset` with `__len__` and `__getitem__`.
///
/// A `Vec` is a data set of its elements, and an `Arc` or a `Box` of a data set is one too. Workers share it, so `get`
/// takes `&self`. In a [`DataLoader`](super::DataLoader), the random numbers that [`get`](Self::get) draws from the default
/// generator depend only on the epoch and the number of the batch.
///
/// If this trait is imported, `get` of a `Vec` is this one; call `vec.as_slice().get(index)` for that of a slice.
///
/// # Example
///
/// ```
/// use module_nn::data::{DataError, Dataset};
/// use module_nn::prelude::*;
///
/// struct Squares(usize);
///
/// impl Dataset for Squares {
///     type Item = (f32, f32);
///
///     fn len(&self) -> usize {
///         self.0
///     }
///
///     fn get(&self, index: usize) -> Result<(f32, f32)> {
///         DataError::check_index(index, self.0)?;
///         let x = index as f32;
///         Ok((x, x * x))
///     }
/// }
///
/// assert_eq!(Squares(5).get(3)?, (3.0, 9.0));
/// assert_eq!(Squares(5).get(5).unwrap_err().to_string(), "dataset: index 5 is out of range of 5 samples");
/// # Ok::<(), Error>(())
/// ```
pub trait Dataset: Send + Sync {
    /// A sample.
    type Item: Send;

    /// The number of samples.
    fn len(&self) -> usize;

    /// The sample at an index below [`len`](Self::len).
    ///
    /// # Errors
    ///
    /// [`DataError::Index`] for another index; a sample that cannot be loaded.
    fn get(&self, index: usize) -> Result<Self::Item>;

    /// Whether there are no samples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Clone + Send + Sync> Dataset for Vec<T> {
    type Item = T;

    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn get(&self, index: usize) -> Result<T> {
        let found = self.as_slice().get(index).cloned();
        found.ok_or_else(|| {
            let len = self.as_slice().len();
            DataError::Index { index, len }.into()
        })
    }
}

impl<D: Dataset + ?Sized> Dataset for Arc<D> {
    type Item = D::Item;

    fn len(&self) -> usize {
        (**self).len()
    }

    fn get(&self, index: usize) -> Result<D::Item> {
        (**self).get(index)
    }
}

impl<D: Dataset + ?Sized> Dataset for Box<D> {
    type Item = D::Item;

    fn len(&self) -> usize {
        (**self).len()
    }

    fn get(&self, index: usize) -> Result<D::Item> {
        (**self).get(index)
    }
}
