//! Host memory: elements that a tensor owns, or bytes of a file that it borrows.

use super::aligned_vec::{AlignedVec, Origin};
use super::dispatch::dispatch;
use super::{Device, Element, HostData, Operand, SharedBytes, Storage, StorageData, blocks};
use crate::{DType, DTypeError, DeviceError, Result};

/// Elements in host memory.
pub(in crate::backend) struct CpuStorage(Memory);

enum Memory {
    /// Elements from an index on.
    Owned(HostData, usize, Origin),
    /// Elements read directly from shared bytes with the memory layout of the dtype; never written.
    Borrowed(SharedBytes, DType),
    /// The elements of another storage as those of another dtype of the same width; never written.
    Viewed(Storage, DType),
}

/// Host elements as a CPU storage; they are there already, so nothing can fail.
pub(crate) fn cpu_storage<T: Element>(values: impl Into<AlignedVec<T>>) -> Storage {
    CpuStorage::wrap(values)
}

impl CpuStorage {
    #[inline]
    pub(super) fn of(data: HostData) -> Storage {
        Storage::new(Self(Memory::Owned(data, 0, Origin::Caller)))
    }

    #[inline]
    pub(in crate::backend) fn wrap<T: Element>(values: impl Into<AlignedVec<T>>) -> Storage {
        let (data, start, origin) = values.into().into_parts();
        Storage::new(Self(Memory::Owned(data, start, origin)))
    }

    /// Makes a storage that reads its elements directly from shared bytes; `None` if the bytes do not have
    /// the alignment and the memory layout of the dtype.
    pub(super) fn borrow(bytes: SharedBytes, dtype: DType) -> Option<Storage> {
        is_readable_as(bytes.as_ref(), dtype)
            .then(|| Storage::new(Self(Memory::Borrowed(bytes, dtype))))
    }

    /// The bits of a storage as elements of another dtype of the same width and alignment.
    pub(super) fn view(storage: Storage, dtype: DType) -> Result<Storage> {
        let of = storage.dtype();
        if of == dtype {
            return Ok(storage);
        }
        if let Some(Self(Memory::Viewed(viewed, _))) = storage.downcast_ref() {
            return Self::view(viewed.clone(), dtype);
        }
        Ok(
            match bytes(&storage)?.filter(|bytes| is_readable_as(bytes, dtype)) {
                Some(_) => Storage::new(Self(Memory::Viewed(storage, dtype))),
                // On a machine whose byte order differs from that of files.
                None => {
                    let bytes =
                        dispatch!(of, T => <T as Element>::to_le_bytes(elements_of(&storage)?));
                    Self::of(HostData::from_le_bytes(dtype, &bytes))
                }
            },
        )
    }

    /// The elements, if they are of this type.
    #[inline]
    pub(super) fn values<T: Element>(&self) -> Option<&[T]> {
        match &self.0 {
            Memory::Owned(data, start, _) => T::host(data)?.get(*start..),
            Memory::Borrowed(bytes, dtype) if *dtype == T::DTYPE => T::in_bytes(bytes.as_ref()),
            Memory::Viewed(storage, dtype) if *dtype == T::DTYPE => {
                T::in_bytes(bytes(storage).ok()??)
            }
            Memory::Borrowed(..) | Memory::Viewed(..) => None,
        }
    }

    /// The elements to be written, if they are of this type and the memory's own.
    #[inline]
    pub(super) fn values_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        match &mut self.0 {
            Memory::Owned(data, start, _) => T::host_mut(data)?.get_mut(*start..),
            Memory::Borrowed(..) | Memory::Viewed(..) => None,
        }
    }

    /// Takes the elements out, if they are of this type and the memory's own.
    pub(super) fn take_values<T: Element>(&mut self) -> Option<AlignedVec<T>> {
        match &mut self.0 {
            Memory::Owned(data, start, origin) if T::host(data).is_some() => {
                let nothing = T::into_host(Vec::new());
                let data = std::mem::replace(data, nothing);
                AlignedVec::from_parts(data, std::mem::take(start), *origin)
            }
            _ => None,
        }
    }
}

/// The memory is kept for tensors to come.
impl Drop for CpuStorage {
    fn drop(&mut self) {
        if let Memory::Owned(data, _, Origin::Kernel) = &mut self.0 {
            blocks::give_back(std::mem::replace(data, HostData::U8(Vec::new())));
        }
    }
}

impl StorageData for CpuStorage {
    fn dtype(&self) -> DType {
        match &self.0 {
            Memory::Owned(data, ..) => data.dtype(),
            Memory::Borrowed(_, dtype) | Memory::Viewed(_, dtype) => *dtype,
        }
    }

    fn device(&self) -> Device {
        Device::cpu()
    }
}

/// Whether the bytes have the alignment and the memory layout of elements of a dtype.
fn is_readable_as(bytes: &[u8], dtype: DType) -> bool {
    dispatch!(dtype, T => T::in_bytes(bytes).is_some())
}

/// The little-endian bytes of a storage without a copy, on a little-endian machine.
fn bytes(storage: &Storage) -> Result<Option<&[u8]>> {
    dispatch!(storage.dtype(), T => Ok(T::as_le_bytes(elements_of(storage)?)))
}

/// The elements of a storage as the type that its dtype promises.
#[inline]
pub(super) fn elements_of<T: Element>(storage: &Storage) -> Result<&[T]> {
    let memory = storage.downcast_ref::<CpuStorage>();
    let values = memory.and_then(CpuStorage::values);
    values.ok_or_else(|| unreadable(storage, T::DTYPE))
}

/// The name of the operation in errors of memory that no operation has checked.
const OP: &str = "cpu kernel";

/// Why the elements of a storage cannot be read as those of a dtype.
#[cold]
fn unreadable(storage: &Storage, dtype: DType) -> crate::Error {
    if let Err(error) = storage.check_plain(OP) {
        return error;
    }
    if storage.downcast_ref::<CpuStorage>().is_some() {
        let (lhs, rhs) = (storage.dtype(), dtype);
        return DTypeError::Mismatch { op: OP, lhs, rhs }.into();
    }
    storage.absent_error().unwrap_or_else(|| {
        let (lhs, rhs) = (storage.device().to_string(), Device::cpu().to_string());
        DeviceError::Mismatch { op: OP, lhs, rhs }.into()
    })
}

/// The elements behind an operand as the type that its dtype promises.
pub(super) fn elements<T: Element>(x: &Operand) -> Result<&[T]> {
    elements_of(&x.storage)
}
