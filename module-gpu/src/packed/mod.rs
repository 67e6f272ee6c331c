//! Packed (quantized) elements in the memory of the device, in the bytes of their scheme.

mod code;
mod parts;
mod scheme;

use module_tensor::backend::{BlockFormat, Element, Operand, Packed, Storage, StorageData};
use module_tensor::{DType, Device, Layout, Result};

use crate::gpu::{Gpu, too_many};
use crate::storage::GpuStorage;
use parts::Parts;
pub(crate) use scheme::Scheme;

/// Packed elements in the memory of a GPU.
pub(crate) struct PackedStorage {
    pub(crate) scheme: Scheme,
    /// The parts of the scheme, one after another.
    bytes: Storage,
    size: usize,
    /// The word at which each part starts.
    pub(crate) starts: Vec<u32>,
    pub(crate) numel: usize,
    /// The dtype of unpacked elements.
    pub(crate) dtype: DType,
    device: Device,
}

impl PackedStorage {
    /// The bytes, for kernels.
    pub(crate) fn bytes(&self, op: &'static str) -> Result<&GpuStorage> {
        self.bytes.data(op, self.device)
    }

    fn gpu(&self) -> Result<&'static Gpu> {
        let backend = self.device.backend_as();
        backend.ok_or_else(|| self.device.unavailable("unpack"))
    }

    /// The same elements in host memory.
    fn on_host(&self) -> Result<Storage> {
        let layout = Layout::contiguous(self.size.into());
        let storage = self.bytes.clone();
        let bytes = self.gpu()?.fetch(&Operand { storage, layout })?;
        let bytes = u8::from_host(bytes).unwrap_or_default();
        let parts = Parts::of(bytes, &self.starts);
        self.scheme.host_storage(parts, self.numel, self.dtype)
    }
}

impl StorageData for PackedStorage {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn device(&self) -> Device {
        self.device
    }

    fn packed(&self) -> Option<&dyn Packed> {
        Some(self)
    }
}

impl Packed for PackedStorage {
    fn scheme(&self) -> &'static str {
        self.scheme.name()
    }

    fn numel(&self) -> usize {
        self.numel
    }

    fn size_in_bytes(&self) -> usize {
        self.size
    }

    fn block_format(&self) -> Option<BlockFormat> {
        match self.scheme {
            Scheme::Blocks(format) => Some(format),
            _ => None,
        }
    }

    fn unpack(&self) -> Result<Storage> {
        self.gpu()?.unpack(self)
    }

    fn to_device(&self, device: &Device) -> Result<Storage> {
        let storage = self.on_host()?;
        if *device == Device::cpu() {
            return Ok(storage);
        }
        let layout = Layout::contiguous(self.numel.into());
        let x = Operand { storage, layout };
        if let Some(copied) = device.backend().copy_from(&x)? {
            return Ok(copied);
        }
        match x.storage.packed() {
            Some(packed) => packed.to_device(device),
            None => Err(device.unavailable("to_device")),
        }
    }
}

impl Gpu {
    /// A copy of packed elements of the host in their packed form; `None` for plain elements and for schemes without a kernel.
    pub(crate) fn copy_packed(&self, x: &Operand) -> Result<Option<Storage>> {
        let Some(packed) = x.storage.packed() else {
            return Ok(None);
        };
        let Some((scheme, parts)) = Scheme::of(&x.storage) else {
            return Ok(None);
        };
        let numel = packed.numel();
        let starts = parts.starts();
        let starts = starts.ok_or_else(|| too_many("to_device", numel))?;
        Ok(Some(Storage::new(PackedStorage {
            scheme,
            size: parts.bytes().len(),
            bytes: self.send(DType::U8, parts.bytes())?,
            starts,
            numel,
            dtype: x.storage.dtype(),
            device: self.device(),
        })))
    }
}
