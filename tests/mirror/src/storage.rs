use module_tensor::backend::{Saved, Storage, StorageData};
use module_tensor::{DType, Device};

/// Elements in the mirror's memory.
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

/// The data that the CPU saves in a forward pass, as one storage, in a form other than the CPU's that cannot be read as
/// elements.
pub(crate) struct KeptStorage {
    pub(crate) behind: Saved,
    pub(crate) device: Device,
}

impl StorageData for KeptStorage {
    fn dtype(&self) -> DType {
        DType::Bool
    }

    fn device(&self) -> Device {
        self.device
    }
}
