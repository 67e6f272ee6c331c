use module_tensor::backend::{Saved, Storage, StorageData};
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

/// What the CPU keeps of a forward pass, as one storage: another form than the CPU's, in which nothing can
/// be read as elements.
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
