use super::super::{GridSampleGeometry, Operand, Storage};
use crate::Result;

/// Sampling of images at the locations of a grid, of the same dtype. Errors are those of
/// [`Backend::unary`](super::super::Backend::unary).
///
/// # Example
///
/// ```
/// use module_tensor::Device;
///
/// assert!(Device::cpu().backend().grid_sample().is_some());
/// ```
pub trait GridSampleKernels {
    /// The sampled images, in the dtype of `x`.
    fn forward(&self, x: Operand, grid: Operand, geometry: &GridSampleGeometry) -> Result<Storage>;

    /// The gradients of `x` and of the grid, of which only the needed ones are computed.
    fn backward(
        &self,
        grad: Operand,
        x: Operand,
        grid: Operand,
        needs: [bool; 2],
        geometry: &GridSampleGeometry,
    ) -> Result<[Option<Storage>; 2]>;
}
