//! `meshgrid`: grids of coordinates.

use crate::tensor::Tensor;
use crate::{Error, Result, Shape};

/// The order of the dimensions of a [`meshgrid`](Tensor::meshgrid).
///
/// # Example
///
/// ```
/// use module_tensor::{MeshIndexing, Tensor};
///
/// let (x, y) = (Tensor::from([1_i64, 2]), Tensor::from([3_i64, 4, 5]));
/// let grids = Tensor::meshgrid(&[&x, &y], MeshIndexing::Xy)?;
/// assert_eq!(grids[0].shape().to_string(), "[3, 2]");
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MeshIndexing {
    /// The first tensor varies along the first dimension, as for matrices: `"ij"`.
    #[default]
    Ij,
    /// The first tensor varies along the second dimension and the second along the first, as for images: `"xy"`.
    Xy,
}

impl Tensor {
    /// For each of the vectors, a view in the shape of the grid that they span, which varies only along its own dimension:
    /// PyTorch's `torch.meshgrid(tensors, indexing)`.
    ///
    /// A tensor without dimensions counts as a vector of one element.
    ///
    /// # Errors
    ///
    /// No tensors, more than one dimension, different dtypes or devices, a grid that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{MeshIndexing, Tensor};
    ///
    /// let (x, y) = (Tensor::arange(0, 2, ())?, Tensor::arange(0, 3, ())?);
    /// let grid = Tensor::meshgrid(&[&x, &y], MeshIndexing::Ij)?;
    /// assert_eq!(grid[0].to_vec::<i64>()?, [0, 0, 0, 1, 1, 1]);
    /// assert_eq!(grid[1].to_vec::<i64>()?, [0, 1, 2, 0, 1, 2]);
    /// assert_eq!(Tensor::meshgrid(&[&x, &y], MeshIndexing::Xy)?[0].shape().to_string(), "[3, 2]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn meshgrid(tensors: &[&Self], indexing: MeshIndexing) -> Result<Vec<Self>> {
        const NAME: &str = "meshgrid";
        let Some(first) = tensors.first() else {
            let problem = "there is nothing to span a grid";
            return Err(Error::argument(NAME, "tensors", "[]", problem));
        };
        let mut sizes = Vec::with_capacity(tensors.len());
        for tensor in tensors {
            first.check_same(NAME, tensor)?;
            match **tensor.shape() {
                [] => sizes.push(1),
                [size] => sizes.push(size),
                _ => return Err(tensor.shape().error(NAME, "at most one dimension")),
            }
        }
        // The dimension of each tensor.
        let mut dims: Vec<usize> = (0..tensors.len()).collect();
        if indexing == MeshIndexing::Xy && tensors.len() > 1 {
            dims.swap(0, 1);
            sizes.swap(0, 1);
        }
        let shape = Shape::from(sizes.as_slice());
        shape.checked_numel(NAME, first.dtype().size_in_bytes())?;
        let spread = |(tensor, &dim): (&&Self, &usize)| {
            let along = (0..sizes.len()).map(|d| if d == dim { sizes[d] } else { 1 });
            tensor.reshape_to(&along.collect())?.expand(&shape)
        };
        tensors.iter().zip(&dims).map(spread).collect()
    }
}
