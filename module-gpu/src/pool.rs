//! Memory of the device, kept for reuse.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wgpu::{BufferDescriptor, BufferUsages, ErrorFilter};

use crate::wait::wait_for;

const USAGE: BufferUsages = BufferUsages::STORAGE
    .union(BufferUsages::COPY_SRC)
    .union(BufferUsages::COPY_DST);

/// The buffers that storages have given back, by size.
///
/// A buffer is used again at once, because the device runs everything in the order in which it was recorded.
pub(crate) struct Pool {
    device: wgpu::Device,
    free: Mutex<Free>,
    /// Bytes of all buffers, and of those that are free.
    allocated: AtomicU64,
    kept: AtomicU64,
    /// The maximum of `allocated`.
    limit: AtomicU64,
    /// The maximum of `kept`.
    most_kept: u64,
    /// The maximum size of a buffer.
    largest: u64,
}

/// Free buffers by size, each with the number of buffers that had been given back before it.
#[derive(Default)]
struct Free {
    by_size: HashMap<u64, Vec<(u64, wgpu::Buffer)>>,
    given: u64,
}

impl Free {
    /// Takes out the buffer that has not been used for the longest time.
    fn oldest(&mut self) -> Option<wgpu::Buffer> {
        let all = self.by_size.values_mut().filter(|all| !all.is_empty());
        let all = all.min_by_key(|all| all.first().map(|(since, _)| *since))?;
        Some(all.remove(0).1)
    }
}

/// Memory of a storage; given back to the pool with the last handle.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Block>);

struct Block {
    buffer: wgpu::Buffer,
    pool: Arc<Pool>,
}

impl Memory {
    pub(crate) fn buffer(&self) -> &wgpu::Buffer {
        &self.0.buffer
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.pool.give(&self.buffer);
    }
}

/// The size of the buffer for this many bytes: at most an eighth larger, so that similar requests share buffers.
pub(crate) fn class(bytes: u64) -> u64 {
    let step = (bytes.next_power_of_two() / 16).max(256);
    bytes.max(1).next_multiple_of(step)
}

impl Pool {
    /// Keeps `most_kept` bytes at most, in buffers of `largest` bytes at most.
    pub(crate) fn new(device: wgpu::Device, largest: u64, most_kept: u64) -> Self {
        Self {
            device,
            free: Mutex::default(),
            allocated: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            limit: AtomicU64::new(u64::MAX),
            most_kept,
            largest,
        }
    }

    /// Whether one buffer may have as many bytes, if nothing else is allocated.
    pub(crate) fn may_hold(&self, bytes: u64) -> bool {
        bytes <= self.largest && bytes <= self.limit.load(Ordering::Relaxed)
    }

    /// Memory of at least this many bytes, or `None` if there is not as much.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64) -> Option<Memory> {
        if !self.may_hold(bytes) {
            return None;
        }
        let size = class(bytes).min(self.largest);
        let buffer = match self.taken(size) {
            Some(buffer) => buffer,
            None => self.create(size)?,
        };
        let pool = Arc::clone(self);
        Some(Memory(Arc::new(Block { buffer, pool })))
    }

    fn taken(&self, size: u64) -> Option<wgpu::Buffer> {
        let mut free = self.free();
        let (_, buffer) = free.by_size.get_mut(&size)?.pop()?;
        self.kept.fetch_sub(size, Ordering::Relaxed);
        Some(buffer)
    }

    fn create(&self, size: u64) -> Option<wgpu::Buffer> {
        let limit = self.limit.load(Ordering::Relaxed);
        let add = |all: u64| all.checked_add(size).filter(|&all| all <= limit);
        let all = &self.allocated;
        all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
            .ok()?;
        let scope = self.device.push_error_scope(ErrorFilter::OutOfMemory);
        let buffer = self.device.create_buffer(&BufferDescriptor {
            label: None,
            size,
            usage: USAGE,
            mapped_at_creation: false,
        });
        match wait_for(scope.pop()) {
            None => Some(buffer),
            Some(_) => {
                all.fetch_sub(size, Ordering::Relaxed);
                None
            }
        }
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(&self, buffer: &wgpu::Buffer) {
        let size = buffer.size();
        let mut free = self.free();
        let since = free.given;
        free.given += 1;
        let all = free.by_size.entry(size).or_default();
        all.push((since, buffer.clone()));
        let mut kept = self.kept.fetch_add(size, Ordering::Relaxed) + size;
        while kept > self.most_kept
            && let Some(oldest) = free.oldest()
        {
            self.kept.fetch_sub(oldest.size(), Ordering::Relaxed);
            self.allocated.fetch_sub(oldest.size(), Ordering::Relaxed);
            kept = kept.saturating_sub(oldest.size());
        }
    }

    /// Returns everything that is free to the system.
    pub(crate) fn empty(&self) {
        let free = std::mem::take(&mut self.free().by_size);
        let buffers = free.values().flatten();
        let bytes: u64 = buffers.map(|(_, buffer)| buffer.size()).sum();
        self.kept.fetch_sub(bytes, Ordering::Relaxed);
        self.allocated.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(crate) fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// Bytes in use, and bytes kept for reuse.
    pub(crate) fn bytes(&self) -> [u64; 2] {
        let kept = self.kept.load(Ordering::Relaxed);
        let allocated = self.allocated.load(Ordering::Relaxed);
        [allocated.saturating_sub(kept), kept]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use module_tensor::DType;

    use super::*;
    use crate::gpu::Gpu;
    use crate::tests::alone;

    #[test]
    fn the_oldest_memory_goes_first_where_little_is_kept() {
        const MIB: u64 = 1 << 20;
        let Some((_alone, device)) = alone() else {
            return;
        };
        let gpu: &Gpu = device.backend_as().unwrap();
        let pool = Arc::new(Pool::new(gpu.wgpu.clone(), u64::MAX, 5 * MIB));
        let held = [MIB, 3 * MIB, 2 * MIB].map(|bytes| pool.take(bytes).unwrap());
        assert_eq!(pool.bytes(), [6 * MIB, 0]);
        held.into_iter().for_each(drop);
        assert_eq!(pool.bytes(), [0, 5 * MIB]);
        let _used_again = pool.take(3 * MIB);
        assert_eq!(pool.bytes(), [3 * MIB, 2 * MIB]);
        let _new = pool.take(MIB);
        assert_eq!(pool.bytes(), [4 * MIB, 2 * MIB]);
    }

    #[test]
    fn a_request_beyond_any_memory_leaves_what_is_kept() {
        let Some((_alone, device)) = alone() else {
            return;
        };
        let gpu: &Gpu = device.backend_as().unwrap();
        drop(gpu.allocate(1 << 20, DType::F32).unwrap());
        let [_, kept] = gpu.pool.bytes();
        assert!(kept >= 4 << 20, "{kept}");
        for numel in [gpu.pool.largest as usize, usize::MAX] {
            assert!(gpu.allocate(numel, DType::F32).is_err());
            assert_eq!(gpu.pool.bytes()[1], kept);
        }
    }
}
