use crate::{DType, Shape, Tensor};

/// The shape and dtype of a tensor.
///
/// # Example
///
/// ```
/// use module_nn::inspect::TensorInfo;
/// use module_nn::prelude::*;
///
/// let info = TensorInfo::of(&Tensor::zeros([2, 3], DType::F64)?);
/// assert_eq!((info.shape.to_string().as_str(), info.dtype, info.bytes()), ("[2, 3]", DType::F64, 48));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Its shape.
    pub shape: Shape,
    /// Its dtype.
    pub dtype: DType,
}

impl TensorInfo {
    /// Of a tensor.
    pub fn of(tensor: &Tensor) -> Self {
        Self {
            shape: tensor.shape().clone(),
            dtype: tensor.dtype(),
        }
    }

    /// The bytes of its elements.
    pub fn bytes(&self) -> usize {
        self.shape.numel() * self.dtype.size_in_bytes()
    }
}
