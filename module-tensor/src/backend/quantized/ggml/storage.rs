use std::ops::Range;

use super::super::super::{Device, PackedRuns, SharedBytes};
use super::super::shared::HostPacked;
use super::format::BlockFormat;
use crate::DType;

/// The memory of a tensor in ggml blocks.
///
/// [`BlockFormat::tensor`] and [`BlockFormat::quantize`] make such tensors.
pub struct BlockStorage {
    format: BlockFormat,
    bytes: SharedBytes,
    device: Device,
}

impl BlockStorage {
    /// Whole blocks; leftover bytes belong to no element.
    pub fn new(format: BlockFormat, bytes: SharedBytes) -> Self {
        let device = Device::cpu();
        Self {
            format,
            bytes,
            device,
        }
    }

    /// The layout of a block.
    pub fn format(&self) -> BlockFormat {
        self.format
    }

    /// The blocks.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl HostPacked for BlockStorage {
    fn scheme(&self) -> &'static str {
        self.format.name()
    }

    fn numel(&self) -> usize {
        self.bytes().len() / self.format.size_in_bytes() * self.format.numel()
    }

    fn size_in_bytes(&self) -> usize {
        self.bytes().len()
    }

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn device(&self) -> Device {
        self.device
    }

    fn block_format(&self) -> Option<BlockFormat> {
        Some(self.format)
    }

    fn on(&self, device: Device) -> Self {
        Self {
            format: self.format,
            bytes: self.bytes.clone(),
            device,
        }
    }
}

impl PackedRuns for BlockStorage {
    fn group(&self) -> usize {
        self.format.numel()
    }

    fn unpack_run(&self, run: Range<usize>, out: &mut [f32]) {
        let (numel, size) = (self.format.numel(), self.format.size_in_bytes());
        let blocks = run.start / numel * size..run.end / numel * size;
        self.format
            .unpack(self.bytes().get(blocks).unwrap_or_default(), out);
    }
}
