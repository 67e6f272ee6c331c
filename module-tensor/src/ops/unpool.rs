//! `max_unpool`, the partial inverse of max pooling.

use super::AutocastPolicy;
use super::window::{name_by_dims, product};
use crate::tensor::Tensor;
use crate::{Result, Shape, ShapeError};

impl Tensor {
    /// Zeros with these elements at the indices where [`max_pool_with_indices`](Self::max_pool_with_indices)
    /// found them: `torch.nn.functional.max_unpool1d` to `max_unpool3d`.
    ///
    /// If several elements have the same index, the last is kept.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, size…]` or without the batch, and `indices` of the same shape, which are indices into
    /// the flattened spatial dimensions of the output; `output_size` replaces the sizes.
    ///
    /// # Errors
    ///
    /// A wrong number of dimensions, indices of another shape or dtype than `I64` and `I32`, or outside the output.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{PoolOptions, Tensor};
    ///
    /// let x = Tensor::from([[1.0_f32, 4.0, 2.0, 3.0]]);
    /// let (y, indices) = x.max_pool_with_indices(PoolOptions::new([2]))?;
    /// assert_eq!(y.max_unpool(&indices, [4])?.to_vec::<f32>()?, [0.0, 4.0, 0.0, 3.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias("max_unpool1d", "max_unpool2d", "max_unpool3d"))]
    pub fn max_unpool<const N: usize>(
        &self,
        indices: &Self,
        output_size: [usize; N],
    ) -> Result<Self> {
        if let Some(out) =
            AutocastPolicy::Float32.apply([self], [], |[x], []| x.max_unpool(indices, output_size))
        {
            return out;
        }
        let name = name_by_dims::<N>(["max_unpool1d", "max_unpool2d", "max_unpool3d"]);
        let (input, batched) = self.batched::<N>(name)?;
        if indices.shape() != self.shape() {
            return Err(ShapeError::Mismatch {
                op: name,
                lhs: self.shape().clone(),
                rhs: indices.shape().clone(),
                rule: "each element needs an index".to_owned(),
            }
            .into());
        }
        let indices = self.indices(name, indices)?;
        if batched {
            input.check_channels(name)?;
        }
        let lead = &input.shape()[..2];
        let shape: Shape = lead.iter().copied().chain(output_size).collect();
        shape.checked_numel(name, self.dtype().size_in_bytes())?;
        // Checked above: with an empty batch, the product of the sizes alone may exceed memory.
        let Some(plane) = product(&output_size) else {
            return Err(self.shape().error(name, "an output that fits memory"));
        };
        let planes: Shape = [lead[0], lead[1], plane].into();
        let zeros = Self::zeros(planes, (self.dtype(), &self.device()))?;
        let indices = if batched {
            indices
        } else {
            indices.unsqueeze(0)?
        };
        let spread = zeros.scatter(2, &indices.flatten(2, -1)?, &input.flatten(2, -1)?)?;
        spread.reshape_to(&shape)?.unbatched(batched)
    }
}
