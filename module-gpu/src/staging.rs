//! Memory of the host through which elements go to the device, kept for reuse: new memory of this kind takes longer than the copy.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wgpu::{Buffer, BufferDescriptor, BufferUsages, Device, MapMode};

use crate::pool::class;

/// The buffers that are kept for reuse at most, and their bytes.
const COUNT: usize = 64;
const KEPT: u64 = 256 << 20;

/// Buffers that the host can write to.
#[derive(Clone, Default)]
pub(crate) struct Staging(Arc<Mutex<Vec<Buffer>>>);

impl Staging {
    /// A buffer of at least this many bytes that the host can write to.
    pub(crate) fn take(&self, device: &Device, bytes: u64) -> Buffer {
        let size = class(bytes);
        let mut free = self.free();
        if let Some(at) = free.iter().position(|buffer| buffer.size() == size) {
            return free.swap_remove(at);
        }
        drop(free);
        device.create_buffer(&BufferDescriptor {
            label: Some("upload"),
            size,
            usage: BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC,
            mapped_at_creation: true,
        })
    }

    /// Keeps a buffer as soon as the device has read it, which it has been handed over for.
    pub(crate) fn give(&self, buffer: Buffer) {
        let (own, kept) = (self.clone(), buffer.clone());
        buffer.map_async(MapMode::Write, .., move |mapped| {
            let mut free = own.free();
            let bytes: u64 = free.iter().map(Buffer::size).sum();
            let fits = free.len() < COUNT && bytes.saturating_add(kept.size()) <= KEPT;
            if fits && mapped.is_ok() {
                free.push(kept);
            }
        });
    }

    /// Returns everything that is free to the system.
    pub(crate) fn empty(&self) {
        self.free().clear();
    }

    fn free(&self) -> MutexGuard<'_, Vec<Buffer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use module_tensor::{Result, Tensor};

    use super::*;
    use crate::gpu::Gpu;
    use crate::tests::alone;

    #[test]
    fn the_memory_of_an_upload_is_used_again() -> Result<()> {
        let Some((_alone, device)) = alone() else {
            return Ok(());
        };
        let gpu: &Gpu = device.backend_as().unwrap();
        let size = class(4 * 12_345);
        for i in 0..3 {
            let x = Tensor::from(vec![i as f32; 12_345]).to_device(&device)?;
            assert_eq!(x.sum(..)?.item::<f32>()?, 12_345.0 * i as f32);
            let free = gpu.staging.free();
            let own = free.iter().filter(|buffer| buffer.size() == size);
            assert_eq!(own.count(), 1);
        }
        Ok(())
    }
}
