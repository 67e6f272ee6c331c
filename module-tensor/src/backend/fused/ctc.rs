use super::super::{CtcGeometry, Operand, Storage};
use crate::Result;

/// Connectionist temporal classification. Errors are those of [`Backend::unary`](super::super::Backend::unary).
///
/// # Example
///
/// ```
/// use module_tensor::Device;
///
/// assert!(Device::cpu().backend().ctc().is_some());
/// ```
pub trait CtcKernels {
    /// The loss of each sequence, infinite if no path gives its target, in the dtype of the computation, because losses are
    /// summed before they are rounded.
    fn forward(&self, x: Operand, geometry: &CtcGeometry) -> Result<Storage>;

    /// The gradient of the log-probabilities, in their dtype: 0 where no path gives the target.
    fn backward(&self, grad: Operand, x: Operand, geometry: &CtcGeometry) -> Result<Storage>;
}
