use module_tensor::backend::{Saved, StorageData};
use module_tensor::{DType, Device};

use crate::pool::Memory;

/// Elements in the memory of a GPU.
pub(crate) struct GpuStorage {
    pub(crate) memory: Memory,
    pub(crate) dtype: DType,
    pub(crate) numel: usize,
    pub(crate) device: Device,
}

impl StorageData for GpuStorage {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn device(&self) -> Device {
        self.device
    }
}

/// The values that the CPU saved for a gradient, as one storage, in host memory.
pub(crate) struct KeptStorage {
    pub(crate) saved: Saved,
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
