//! Device memory.

use std::any::Any;

use super::{Device, Packed};
use crate::DType;

/// Device memory that holds the elements of tensors; made by the device's [`Backend`](super::Backend).
///
/// # Example
///
/// ```
/// use module_tensor::{DType, Device, Tensor};
///
/// let x = Tensor::from([1_i64, 2]);
/// assert_eq!((x.storage().dtype(), x.storage().device()), (DType::I64, Device::cpu()));
/// ```
pub trait StorageData: Any + Send + Sync {
    /// The type of the elements.
    fn dtype(&self) -> DType;

    /// The device that the memory belongs to.
    fn device(&self) -> Device;

    /// The packing of the elements, if they are not stored one by one.
    fn packed(&self) -> Option<&dyn Packed> {
        None
    }
}
