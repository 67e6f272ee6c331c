//! Host memory: elements that a tensor owns, or bytes of a file that it borrows.

use super::super::Absent;
use super::map::dispatch;
use super::{Device, Element, HostData, SharedBytes, Storage, StorageData, memory};
use crate::{DType, ErrorKind, Result};

/// Elements in host memory.
pub(in crate::backend) struct CpuStorage(Memory);

enum Memory {
    Owned(HostData),
    /// Elements that lie in somebody else's bytes as memory holds them; never written.
    Borrowed(SharedBytes, DType),
}

impl CpuStorage {
    pub(super) fn of(data: HostData) -> Storage {
        Storage::new(Self(Memory::Owned(data)))
    }

    pub(in crate::backend) fn wrap<T: Element>(values: Vec<T>) -> Storage {
        Self::of(T::into_host(values))
    }

    /// A storage that reads its elements where they lie; `None` if they do not lie there as memory
    /// would hold them.
    pub(super) fn borrow(bytes: SharedBytes, dtype: DType) -> Option<Storage> {
        let fits = dispatch!(dtype, T => T::in_bytes(bytes.as_ref()).is_some());
        fits.then(|| Storage::new(Self(Memory::Borrowed(bytes, dtype))))
    }

    /// The elements, if they are of this type.
    pub(super) fn values<T: Element>(&self) -> Option<&[T]> {
        match &self.0 {
            Memory::Owned(data) => T::host(data).map(Vec::as_slice),
            Memory::Borrowed(bytes, dtype) if *dtype == T::DTYPE => T::in_bytes(bytes.as_ref()),
            Memory::Borrowed(..) => None,
        }
    }

    /// The elements to be written, if they are of this type and not borrowed.
    pub(super) fn values_mut<T: Element>(&mut self) -> Option<&mut Vec<T>> {
        match &mut self.0 {
            Memory::Owned(data) => T::host_mut(data),
            Memory::Borrowed(..) => None,
        }
    }
}

/// The memory is kept for tensors to come.
impl Drop for CpuStorage {
    fn drop(&mut self) {
        if let Memory::Owned(data) = &mut self.0 {
            memory::give_back(std::mem::replace(data, HostData::U8(Vec::new())));
        }
    }
}

impl StorageData for CpuStorage {
    fn dtype(&self) -> DType {
        match &self.0 {
            Memory::Owned(data) => data.dtype(),
            Memory::Borrowed(_, dtype) => *dtype,
        }
    }

    fn device(&self) -> Device {
        Device::cpu()
    }
}

/// The elements of a storage as the type that its dtype promises.
pub(super) fn elements_of<T: Element>(storage: &Storage) -> Result<&[T]> {
    let Some(memory) = storage.downcast_ref::<CpuStorage>() else {
        return Err(Absent::error(storage).unwrap_or_else(|| {
            let op = "cpu kernel";
            let (lhs, rhs) = (storage.device().to_string(), Device::cpu().to_string());
            ErrorKind::DeviceMismatch { op, lhs, rhs }.into()
        }));
    };
    memory.values().ok_or_else(|| {
        let (lhs, rhs) = (storage.dtype(), T::DTYPE);
        ErrorKind::DTypeMismatch {
            op: "cpu kernel",
            lhs,
            rhs,
        }
        .into()
    })
}
