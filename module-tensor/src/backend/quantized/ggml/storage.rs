use std::ops::Range;

use super::super::super::{Device, PackedRuns, SharedBytes};
use super::super::shared::HostPacked;
use super::format::BlockFormat;
use crate::DType;

/// The memory of a tensor in ggml blocks.
///
/// [`BlockFormat::tensor`] and [`BlockFormat::quantize`] make such tensors.
///
/// # Example
///
/// ```
/// use module_tensor::backend::{BlockStorage, Device, Operand, SharedBytes, Storage};
/// use module_tensor::{BlockFormat, DType, Layout, Tensor};
///
/// // A block: the scale 1 in half precision, and the codes 0 to 31.
/// let bytes: Vec<u8> = [0x00, 0x3c].into_iter().chain(0..32).collect();
/// let blocks = BlockStorage::new(BlockFormat::Q8_0, SharedBytes::new(bytes));
/// assert_eq!((blocks.format(), blocks.bytes().len()), (BlockFormat::Q8_0, 34));
/// let layout = Layout::contiguous([32, 1].into());
/// let column = Operand { storage: Storage::new(blocks), layout };
///
/// // The kernels of packed elements: a product with a row added, and the elements themselves.
/// let backend = Device::cpu().backend();
/// let (x, row) = (Tensor::ones([1, 32], DType::F32)?, Tensor::from([0.5_f32]));
/// let one = |storage| Tensor::from_storage(storage, Layout::contiguous(1.into())).item::<f32>();
/// let y = backend.packed_matmul(Some(row.operand()), x.operand(), column.clone())?;
/// assert_eq!(one(y)?, 496.5);
/// let plain = backend.unpacked(column, DType::F32)?;
/// assert_eq!(one(backend.addmm(row.operand(), x.operand(), plain)?)?, 496.5);
/// # Ok::<(), module_tensor::Error>(())
/// ```
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
