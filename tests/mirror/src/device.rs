//! A mirror, and how results go in and out of it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use module_tensor::backend::{Backend, Operand, Saved, Storage};
use module_tensor::{DType, Device, DeviceError, Error, Result};

use crate::Family;
use crate::storage::{Counted, KeptStorage, MemoryCount, MirrorStorage};

pub(crate) const KIND: &str = "mirror";

/// The kernels of a mirror, which delegate to the CPU's.
pub struct Mirror {
    pub(crate) index: usize,
    pub(crate) lacks: Vec<Family>,
    pub(crate) device: OnceLock<Device>,
    pub(crate) draws: bool,
    pub(crate) drops: bool,
    /// The maximum number of bytes of a storage.
    pub(crate) room: usize,
    /// The errors since the last wait for the device.
    pub(crate) failed: Mutex<Option<Error>>,
    /// The dtypes that fused kernels received.
    pub(crate) given: Mutex<Vec<(Family, DType)>>,
    /// The bytes of its storages, if they are counted.
    count: Option<Arc<MemoryCount>>,
}

impl Mirror {
    pub(crate) fn new(index: usize, lacks: &[Family]) -> Self {
        Self {
            index,
            lacks: lacks.to_vec(),
            device: OnceLock::new(),
            draws: false,
            drops: false,
            room: usize::MAX,
            failed: Mutex::default(),
            given: Mutex::default(),
            count: None,
        }
    }

    pub(crate) fn with_generator(self) -> Self {
        Self {
            draws: true,
            ..self
        }
    }

    pub(crate) fn with_dropout(self) -> Self {
        Self {
            drops: true,
            ..self
        }
    }

    pub(crate) fn with_room_for(self, bytes: usize) -> Self {
        Self {
            room: bytes,
            ..self
        }
    }

    pub(crate) fn counting(self) -> Self {
        Self {
            count: Some(Arc::default()),
            ..self
        }
    }

    /// The bytes of the tensors that it holds now; 0 if it does not count.
    pub fn live_bytes(&self) -> usize {
        let live = self.count.as_ref().map(|count| &count.live);
        live.map_or(0, |live| live.load(Ordering::Acquire))
    }

    /// The most bytes that it has held at once since the last call, or since it was made.
    pub fn take_peak_bytes(&self) -> usize {
        let live = self.live_bytes();
        let peak = self.count.as_ref().map(|count| &count.peak);
        peak.map_or(0, |peak| peak.swap(live, Ordering::AcqRel))
    }

    /// Makes the next wait for the device fail, as after a kernel that fails once its call has returned.
    pub fn fail_later(&self, source: impl std::error::Error + Send + Sync + 'static) {
        let (device, source) = (self.device().to_string(), Box::new(source));
        let error = DeviceError::Failed { device, source }.into();
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Takes the dtypes of the first operands that fused kernels received, in the order of the calls.
    pub fn take_given(&self) -> Vec<(Family, DType)> {
        std::mem::take(&mut *self.given.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn note(&self, family: Family, dtype: DType) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.push((family, dtype));
    }

    /// The device under which this backend is registered.
    pub(crate) fn device(&self) -> Device {
        let find = || {
            let all = Device::all().into_iter();
            let mut own = all.filter(|d| d.kind() == KIND && d.index() == self.index);
            // Kernels are called with tensors on the device, which is registered by then.
            own.next().unwrap_or_default()
        };
        *self.device.get_or_init(find)
    }

    /// The CPU operand inside an operand of the mirror.
    pub(crate) fn read(&self, x: Operand) -> Result<Operand> {
        let data: &MirrorStorage = x.storage.data("mirror", self.device())?;
        let (storage, layout) = (data.behind.clone(), x.layout);
        Ok(Operand { storage, layout })
    }

    /// Wraps a result for the mirror.
    pub(crate) fn hide(&self, behind: Storage) -> Storage {
        let device = self.device();
        let count = self.count.as_ref();
        Storage::new(MirrorStorage {
            _counted: count.map(|count| Counted::new(&behind, count)),
            behind,
            device,
        })
    }

    /// Computes a storage with the CPU.
    pub(crate) fn run(&self, f: impl FnOnce(&dyn Backend) -> Result<Storage>) -> Result<Storage> {
        Ok(self.hide(f(Device::cpu().backend())?))
    }

    pub(crate) fn hide_all<const N: usize>(&self, behind: [Storage; N]) -> [Storage; N] {
        behind.map(|x| self.hide(x))
    }

    /// The data that the CPU saves for a gradient, in a separate form of the mirror.
    pub(crate) fn keep(&self, behind: Saved) -> Saved {
        let device = self.device();
        Saved::new([Storage::new(KeptStorage { behind, device })])
    }

    /// The data that the CPU saves, from the result of [`keep`](Self::keep).
    pub(crate) fn kept<'a>(&self, saved: &'a Saved) -> Result<&'a Saved> {
        let [kept] = saved.storages("mirror")?;
        let kept: &KeptStorage = kept.data("mirror", self.device())?;
        Ok(&kept.behind)
    }

    pub(crate) fn has(&self, family: Family) -> bool {
        !self.lacks.contains(&family)
    }
}
