use module_core::Tensor;
use module_core::hooks::Tensors;

/// Asks a pooling layer to also return the index of each maximum: PyTorch's `return_indices`.
///
/// The layer then returns the elements and, as `I64`, their indices in the flattened spatial dimensions of the input,
/// for [`MaxUnpool`](super::MaxUnpool).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::from([[1.0_f32, 4.0, 2.0, 3.0]]);
/// let (y, indices) = MaxPool1d::new(2)?.call(WithIndices(x))?;
/// assert_eq!(y.to_vec::<f32>()?, [4.0, 3.0]);
/// assert_eq!(indices.to_vec::<i64>()?, [1, 3]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct WithIndices(pub Tensor);

impl Tensors for WithIndices {
    fn for_each(&self, f: &mut dyn FnMut(&Tensor)) {
        f(&self.0);
    }

    fn for_each_mut(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        f(&mut self.0);
    }
}
