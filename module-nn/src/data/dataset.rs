use std::sync::Arc;

use module_core::Result;

use super::DataError;

/// Samples by their index: PyTorch's `Dataset` with `__len__` and `__getitem__`.
///
/// A `Vec` is a data set of its elements, and an `Arc` or a `Box` of a data set is one. Workers share it, so
/// `get` takes `&self`. What [`get`](Self::get) draws from the default generator depends, in a
/// [`DataLoader`](super::DataLoader), on the epoch and the number of the batch alone.
///
/// Where this trait is imported, `get` of a `Vec` is this one; that of a slice is `vec.as_slice().get(index)`.
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

    /// The sample of an index below [`len`](Self::len).
    ///
    /// # Errors
    ///
    /// [`DataError::Index`] of another index; a sample that cannot be loaded.
    fn get(&self, index: usize) -> Result<Self::Item>;

    /// Whether there is no sample.
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
