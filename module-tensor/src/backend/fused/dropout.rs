use crate::backend::{Operand, Storage};
use crate::{DType, Result};

/// Dropout by a key: whether an element is dropped is computed from the key and the number of the element, so that no mask is
/// drawn on the CPU, moved to the device, or saved for the gradient. Errors are those of
/// [`Backend::unary`](crate::backend::Backend::unary).
///
/// # Example
///
/// ```
/// use module_tensor::Device;
///
/// // The CPU draws PyTorch's masks.
/// assert!(Device::cpu().backend().dropout().is_none());
/// ```
///
/// ```
/// use module_tensor::backend::{DropoutKernels, HostData, Operand, Storage};
/// use module_tensor::{DType, Device, Layout, Result, Tensor};
///
/// /// Kernels that drop the elements whose hashes are small.
/// struct ByHash;
///
/// impl DropoutKernels for ByHash {
///     fn serves(&self, dtype: DType) -> bool {
///         dtype == DType::F64
///     }
///
///     fn dropout(&self, x: Operand, p: f64, key: u64) -> Result<Storage> {
///         let cpu = Device::cpu().backend();
///         let HostData::F64(mut elements) = cpu.download(&x)? else {
///             return Err(Device::cpu().unavailable("dropout"));
///         };
///         for (element, i) in elements.iter_mut().zip(1_u64..) {
///             let hash = (key ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
///             let is_dropped = ((hash >> 11) as f64) < p * (1_u64 << 53) as f64;
///             *element *= if is_dropped { 0.0 } else { 1.0 / (1.0 - p) };
///         }
///         cpu.upload(HostData::F64(elements))
///     }
/// }
///
/// let ones = Operand {
///     storage: Device::cpu().backend().full(8, DType::F64, 1.0.into())?,
///     layout: Layout::contiguous(8.into()),
/// };
/// let drop = |key| {
///     let storage = ByHash.dropout(ones.clone(), 0.5, key)?;
///     Tensor::from_storage(storage, Layout::contiguous(8.into())).to_vec::<f64>()
/// };
/// assert!(ByHash.serves(DType::F64));
/// assert_eq!(drop(1)?, drop(1)?);
/// assert_ne!(drop(1)?, drop(2)?);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub trait DropoutKernels {
    /// Whether elements of this dtype are supported. For others, masks are drawn and moved to the device.
    fn serves(&self, dtype: DType) -> bool;

    /// Each element times 0 with the probability `p`, which is between 0 and 1, otherwise times `1/(1 - p)`. The key and the
    /// number of an element in row-major order decide whether it is dropped: the same key drops the same elements again.
    fn dropout(&self, x: Operand, p: f64, key: u64) -> Result<Storage>;
}
