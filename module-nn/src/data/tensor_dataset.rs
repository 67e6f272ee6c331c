use module_core::{Error, Result, Tensor};

use super::{DataError, Dataset};

/// Tensors with the same first dimension as a data set: PyTorch's `TensorDataset`. Sample `i` has row `i` of each, as a
/// view.
///
/// It is built from a tensor, a tuple of up to six, or a `Vec` of them, and samples have the same form: one tensor gives
/// tensors, where PyTorch gives tuples of one.
///
/// # Example
///
/// ```
/// use module_nn::data::{Dataset, TensorDataset};
/// use module_nn::prelude::*;
///
/// let dataset = TensorDataset::new((Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]), Tensor::from([0_i64, 1])))?;
/// let (x, y) = dataset.get(1)?;
/// assert_eq!((x.to_vec::<f32>()?, y.item::<i64>()?), (vec![3.0, 4.0], 1));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TensorDataset<T = Vec<Tensor>> {
    tensors: T,
    len: usize,
}

impl<T: TensorRows> TensorDataset<T> {
    /// A data set of the rows of these tensors.
    ///
    /// # Errors
    ///
    /// [`DataError::FirstDimension`] for a tensor whose first dimension differs from that of the first tensor; a tensor
    /// without dimensions, an empty list of tensors.
    pub fn new(tensors: T) -> Result<Self> {
        let mut len = None;
        for (tensor, of) in tensors.tensors().into_iter().enumerate() {
            let Some(&found) = of.shape().first() else {
                let problem =
                    "has no dimensions; its rows are the samples, so give it at least one";
                return Err(Error::argument("tensor_dataset", "tensor", tensor, problem));
            };
            let expected = *len.get_or_insert(found);
            if found != expected {
                let error = DataError::FirstDimension {
                    tensor,
                    expected,
                    found,
                };
                return Err(error.into());
            }
        }
        let len = len.ok_or(DataError::Empty {
            op: "tensor_dataset",
            what: "tensors",
        })?;
        Ok(Self { tensors, len })
    }

    /// The tensors.
    pub fn tensors(&self) -> &T {
        &self.tensors
    }
}

impl<T: TensorRows> Dataset for TensorDataset<T> {
    type Item = T;

    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, index: usize) -> Result<T> {
        DataError::check_index(index, self.len)?;
        self.tensors.row(index)
    }
}

/// The input of a [`TensorDataset`]: a tensor, a tuple of up to six, a `Vec` of them.
///
/// # Example
///
/// ```
/// use module_nn::data::{Dataset, TensorDataset, TensorRows};
/// use module_nn::prelude::*;
///
/// let x = Tensor::from([[1.0_f32], [2.0]]);
/// assert_eq!(TensorDataset::new(x.clone())?.get(1)?.to_vec::<f32>()?, [2.0]);
/// let (_, row) = TensorDataset::new((x.clone(), x))?.get(0)?;
/// assert_eq!(row.to_vec::<f32>()?, [1.0]);
/// // For any of them.
/// fn first<T: TensorRows>(rows: &T) -> Result<(usize, T)> {
///     Ok((rows.tensors().len(), rows.row(0)?))
/// }
/// let (count, (_, row)) = first(&(Tensor::from([1.0_f32]), Tensor::from([2_i64])))?;
/// assert_eq!((count, row.item::<i64>()?), (2, 2));
/// # Ok::<(), Error>(())
/// ```
pub trait TensorRows: Send + Sync + Sized {
    /// The tensors in order.
    fn tensors(&self) -> Vec<&Tensor>;

    /// Row `index` of each tensor.
    ///
    /// # Errors
    ///
    /// A row that a tensor does not have.
    fn row(&self, index: usize) -> Result<Self>;
}

impl TensorRows for Tensor {
    fn tensors(&self) -> Vec<&Tensor> {
        vec![self]
    }

    fn row(&self, index: usize) -> Result<Self> {
        // An index beyond `isize::MAX` is out of range for every tensor.
        self.select(0, isize::try_from(index).unwrap_or(isize::MAX))
    }
}

impl TensorRows for Vec<Tensor> {
    fn tensors(&self) -> Vec<&Tensor> {
        self.iter().collect()
    }

    fn row(&self, index: usize) -> Result<Self> {
        self.iter().map(|tensor| tensor.row(index)).collect()
    }
}

macro_rules! rows_of_tuples {
    ($(($($name:ident)+))+) => {$(
        impl<$($name: TensorRows),+> TensorRows for ($($name,)+) {
            #[allow(non_snake_case)]
            fn tensors(&self) -> Vec<&Tensor> {
                let ($($name,)+) = self;
                [$($name.tensors()),+].into_iter().flatten().collect()
            }

            #[allow(non_snake_case)]
            fn row(&self, index: usize) -> Result<Self> {
                let ($($name,)+) = self;
                Ok(($($name.row(index)?,)+))
            }
        }
    )+};
}

rows_of_tuples! { (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) }
