use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use module_tensor::backend::{Saved, Storage, StorageData};
use module_tensor::{DType, Device, Layout, Tensor};

/// Elements in the mirror's memory.
pub(crate) struct MirrorStorage {
    pub(crate) behind: Storage,
    pub(crate) device: Device,
    /// The bytes that are counted, if the mirror counts.
    pub(crate) _counted: Option<Counted>,
}

/// The bytes of all storages of a mirror.
#[derive(Default)]
pub(crate) struct MemoryCount {
    pub(crate) live: AtomicUsize,
    pub(crate) peak: AtomicUsize,
}

/// The bytes of one storage, which are counted until it is dropped.
pub(crate) struct Counted {
    bytes: usize,
    count: Arc<MemoryCount>,
}

impl Counted {
    pub(crate) fn new(storage: &Storage, count: &Arc<MemoryCount>) -> Self {
        let bytes = len(storage) * storage.dtype().size_in_bytes();
        let live = count.live.fetch_add(bytes, Ordering::AcqRel) + bytes;
        count.peak.fetch_max(live, Ordering::AcqRel);
        let count = count.clone();
        Self { bytes, count }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.count.live.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// The number of elements of a storage of the CPU, which only says whether it has as many as a tensor.
pub(crate) fn len(storage: &Storage) -> usize {
    let has = |len: usize| {
        let layout = Layout::contiguous([len].into());
        let elements = Tensor::from_storage(storage.clone(), layout);
        elements.as_le_bytes().is_some()
    };
    let mut above = 1;
    while has(above) {
        above *= 2;
    }
    let mut len = above / 2;
    while above - len > 1 {
        let middle = len + (above - len) / 2;
        match has(middle) {
            true => len = middle,
            false => above = middle,
        }
    }
    len
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
