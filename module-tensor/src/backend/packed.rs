use super::{Device, Storage};
use crate::{DTypeError, Error, Result};

/// Elements that do not lie one by one in a storage, as those of quantized blocks, which have a scheme
/// and a length in bytes of their own.
///
/// A storage says so by [`StorageData::packed`](super::StorageData::packed), and
/// [`Tensor::from_storage`](crate::Tensor::from_storage) makes a tensor of it. The tensor has the dtype and the shape
/// that its elements have when they are unpacked. Its layout counts the unpacked elements, so that views
/// of it are as those of any tensor: [`Tensor::unpack`](crate::Tensor::unpack) of a transpose is the
/// transpose of what is unpacked.
///
/// Operations of one's own find the memory by [`Storage::downcast_ref`], and say which layouts they
/// serve. What needs plain elements, as every operation of this crate does, answers
/// [`DTypeError::Packed`](crate::DTypeError::Packed). A packed tensor carries no gradient.
pub trait Packed {
    /// The name of the scheme, such as `q4_0`.
    fn scheme(&self) -> &'static str;

    /// The number of elements.
    fn numel(&self) -> usize;

    /// The bytes that they take.
    fn size_in_bytes(&self) -> usize;

    /// The elements one by one, in row-major order, on the same device.
    ///
    /// # Errors
    ///
    /// Not enough memory, a device that fails.
    fn unpack(&self) -> Result<Storage>;

    /// The same packed elements on another device; a device that knows the scheme may be faster
    /// ([`Backend::copy_from`](super::Backend::copy_from)).
    ///
    /// # Errors
    ///
    /// [`DTypeError::Packed`](crate::DTypeError::Packed) if they cannot be moved, which is the default.
    fn to_device(&self, device: &Device) -> Result<Storage> {
        let _ = device;
        let (op, scheme) = ("to_device", self.scheme());
        Err(Error::from(DTypeError::Packed { op, scheme }))
    }
}
