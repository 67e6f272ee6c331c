use crate::{DType, Shape, Tensor};

/// The shape and dtype of a tensor.
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
