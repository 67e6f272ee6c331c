use std::sync::{PoisonError, RwLock};

use super::{Device, Storage, StorageData};
use crate::layout::Shape;
use crate::{DType, ErrorKind};

/// A storage whose elements lie in another one, which can be dropped and set again while tensors refer to this one.
pub(crate) struct Releasable {
    dtype: DType,
    shape: Shape,
    device: Device,
    /// Where the elements are; `None` while they are released.
    elements: RwLock<Option<Storage>>,
}

impl Releasable {
    /// Without elements.
    pub(crate) fn new(dtype: DType, shape: Shape, device: Device) -> Self {
        Self {
            dtype,
            shape,
            device,
            elements: RwLock::new(None),
        }
    }

    /// A handle to the memory that has the elements.
    pub(crate) fn elements(&self) -> Option<Storage> {
        let elements = self.elements.read();
        // Writers assign whole values.
        elements.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets or drops the elements.
    pub(crate) fn set(&self, elements: Option<Storage>) {
        let mut own = self
            .elements
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *own, elements);
        drop(own);
        drop(before);
    }

    /// The error of a kernel that is given this storage: its callers pass on the memory that has the elements.
    pub(super) fn error(&self) -> crate::Error {
        let what = format!("a tensor of shape {}", self.shape);
        ErrorKind::Released { what }.into()
    }
}

impl StorageData for Releasable {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn device(&self) -> Device {
        self.device
    }
}
