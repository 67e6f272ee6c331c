use super::{Device, StorageData};
use crate::layout::Shape;
use crate::{DType, ErrorKind};

/// The storage of a tensor that has no values yet; kernels refuse it.
pub(crate) struct Absent {
    dtype: DType,
    shape: Shape,
    /// The device that the elements will be on.
    device: Device,
}

impl Absent {
    pub(crate) fn new(dtype: DType, shape: Shape, device: Device) -> Self {
        Self {
            dtype,
            shape,
            device,
        }
    }

    /// The error of a kernel that is given this storage.
    pub(super) fn error(&self) -> crate::Error {
        let what = format!("a parameter of shape {}", self.shape);
        ErrorKind::NoValues { what }.into()
    }
}

impl StorageData for Absent {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn device(&self) -> Device {
        self.device
    }
}
