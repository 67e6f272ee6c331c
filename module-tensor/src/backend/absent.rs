use super::{Device, Storage, StorageData};
use crate::layout::Shape;
use crate::{DType, ErrorKind};

/// What stands for elements that are not there yet: no kernel finds its own memory behind it.
pub(crate) struct Absent {
    dtype: DType,
    shape: Shape,
    /// Where the elements will lie.
    device: Device,
}

impl Absent {
    pub(crate) fn storage(dtype: DType, shape: Shape, device: Device) -> Storage {
        Storage::new(Self {
            dtype,
            shape,
            device,
        })
    }

    /// The error of a kernel that is given a storage which is none of its device's, if this is why.
    pub(super) fn error(storage: &Storage) -> Option<crate::Error> {
        let absent: &Self = storage.downcast_ref()?;
        Some(
            ErrorKind::NoValues {
                what: format!("a parameter of shape {}", absent.shape),
            }
            .into(),
        )
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
