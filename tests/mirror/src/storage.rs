use module_tensor::backend::{Storage, StorageData};
use module_tensor::{DType, Device};

/// Elements behind the mirror.
pub(crate) struct MirrorStorage {
    pub(crate) behind: Storage,
    pub(crate) device: Device,
}

impl StorageData for MirrorStorage {
    fn dtype(&self) -> DType {
        self.behind.dtype()
    }

    fn device(&self) -> Device {
        self.device
    }
}
