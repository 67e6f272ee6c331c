//! Copies between host memory and the device.

use std::sync::mpsc;

use module_tensor::backend::{HostData, Operand, Storage};
use module_tensor::{DType, Layout, Result};
use wgpu::{BufferDescriptor, BufferUsages, MapMode, PollType};

use crate::failures::asks_for;
use crate::gpu::Gpu;
use crate::index_checks::{BYTES, CLEAR};
use crate::pool::Memory;
use crate::stats::add;

/// Copies move whole words.
const WORD: u64 = 4;

impl Gpu {
    /// Copies elements to new memory, without waiting for the copy.
    pub(crate) fn send(&self, dtype: DType, bytes: &[u8]) -> Result<Storage> {
        asks_for("upload");
        let to = self.allocate(bytes.len() / dtype.size_in_bytes(), dtype)?;
        if bytes.is_empty() {
            return Ok(Storage::new(to));
        }
        let size = (bytes.len() as u64).next_multiple_of(WORD);
        let staging = self.staging.take(&self.wgpu, size);
        {
            let mapped = staging.slice(..).get_mapped_range_mut();
            let mut mapped = mapped.map_err(|error| self.failed(error))?;
            mapped.slice(..bytes.len()).copy_from_slice(bytes);
        }
        staging.unmap();
        self.recorder().upload(staging, to.memory.buffer(), size);
        add(&self.counters.uploaded, bytes.len() as u64);
        Ok(Storage::new(to))
    }

    /// Waits for the elements and copies them to host memory.
    pub(crate) fn fetch(&self, x: &Operand) -> Result<HostData> {
        let data = self.data("download", x)?;
        let (dtype, count) = (data.dtype, x.layout.shape().numel());
        let width = dtype.size_in_bytes();
        let start = x.layout.offset() * width;
        let in_place = x.layout.is_contiguous() && (start as u64).is_multiple_of(WORD);
        if !in_place && count > 0 {
            let storage = self.copy_elements("download", x)?;
            let layout = Layout::contiguous(x.layout.shape().clone());
            return self.fetch(&Operand { storage, layout });
        }
        let memory = data.memory.clone();
        let bytes = self.read(&memory, start as u64, count * width)?;
        Ok(HostData::from_le_bytes(dtype, &bytes))
    }

    /// Waits for everything that was recorded, and reads bytes of a buffer.
    fn read(&self, memory: &Memory, start: u64, bytes: usize) -> Result<Vec<u8>> {
        asks_for("download");
        let checks = self.index_checks.take_pending();
        let size = (bytes as u64).next_multiple_of(WORD);
        let reported = if checks { BYTES as u64 } else { 0 };
        let total = size + reported;
        if total == 0 {
            self.wait()?;
            return Ok(Vec::new());
        }
        let staging = [
            (size, memory, start),
            (reported, &self.index_checks.memory, 0),
        ];
        let staging = staging.map(|(size, from, start)| {
            (size > 0).then(|| {
                let buffer = self.wgpu.create_buffer(&BufferDescriptor {
                    label: None,
                    size,
                    usage: BufferUsages::COPY_DST | BufferUsages::MAP_READ,
                    mapped_at_creation: false,
                });
                let mut recorder = self.recorder();
                recorder.copy("download", from.buffer(), start, &buffer, size);
                buffer
            })
        });
        let last = self.recorder().submit(&self.counters);
        let [values, reported] = staging;
        let mut read = Vec::new();
        for buffer in [&values, &reported] {
            let (send, receive) = mpsc::channel();
            if let Some(buffer) = buffer {
                buffer.slice(..).map_async(MapMode::Read, move |result| {
                    let _ = send.send(result);
                });
            }
            read.push(receive);
        }
        add(&self.counters.waits, 1);
        let waited = self.wgpu.poll(PollType::Wait {
            submission_index: last,
            timeout: None,
        });
        waited.map_err(|error| self.failed(error))?;
        self.check_failures()?;
        let mut out = self.contents(values.as_ref(), &read[0])?;
        out.truncate(bytes);
        add(&self.counters.downloaded, bytes as u64);
        let reported = self.contents(reported.as_ref(), &read[1])?;
        if let Some(error) = self.index_checks.error(&reported) {
            let memory = self.index_checks.memory.buffer();
            self.recorder().write(memory, &CLEAR, &self.counters);
            return Err(error);
        }
        Ok(out)
    }

    /// The bytes of a buffer that was mapped, none without a buffer.
    fn contents(
        &self,
        buffer: Option<&wgpu::Buffer>,
        mapped: &mpsc::Receiver<std::result::Result<(), wgpu::BufferAsyncError>>,
    ) -> Result<Vec<u8>> {
        let Some(buffer) = buffer else {
            return Ok(Vec::new());
        };
        let mapped = mapped.recv().map_err(|error| self.failed(error))?;
        mapped.map_err(|error| self.failed(error))?;
        let view = buffer.slice(..).get_mapped_range();
        let copied = view.map_err(|error| self.failed(error))?.to_vec();
        buffer.unmap();
        Ok(copied)
    }

    /// Waits for everything that was recorded, and reports what failed.
    pub(crate) fn wait_for_all(&self) -> Result<()> {
        let memory = self.index_checks.memory.clone();
        self.read(&memory, 0, 0).map(drop)
    }

    fn wait(&self) -> Result<()> {
        let last = self.recorder().submit(&self.counters);
        let waited = self.wgpu.poll(PollType::Wait {
            submission_index: last,
            timeout: None,
        });
        waited.map_err(|error| self.failed(error))?;
        self.check_failures()
    }

    /// The first error that the driver has reported since the last call.
    fn check_failures(&self) -> Result<()> {
        self.failures
            .take()
            .map_or(Ok(()), |error| Err(self.failed(error)))
    }
}
