//! Computation on the CPU for the device: operands are downloaded, results uploaded, and every call is counted.

use module_tensor::backend::{Backend, HostData, Operand, Storage};
use module_tensor::{DType, Device, Layout, Result, Scalar};

use crate::gpu::Gpu;

impl Gpu {
    /// Counts a call of a family that the CPU computes, and says so the first time.
    pub(crate) fn goes_through_host(&self, family: &'static str) {
        if self.counters.host_route(family) {
            eprintln!(
                "warning: {}: the CPU computes `{family}`, with copies there and back; `Gpu::stats` counts the calls",
                self.device()
            );
        }
    }

    /// A copy of an operand for the CPU.
    pub(crate) fn host_copy(&self, x: &Operand) -> Result<Operand> {
        let storage = cpu().upload(self.fetch(x)?)?;
        let layout = Layout::contiguous(x.layout.shape().clone());
        Ok(Operand { storage, layout })
    }

    /// A copy of a result of the CPU, which has `numel` elements.
    pub(crate) fn device_copy(&self, storage: Storage, numel: usize) -> Result<Storage> {
        let layout = Layout::contiguous(numel.into());
        let data = cpu().download(&Operand { storage, layout })?;
        self.send(data.dtype(), &data.to_le_bytes())
    }

    /// The result, which has `numel` elements, of a kernel of the CPU.
    pub(crate) fn through_host<const N: usize>(
        &self,
        family: &'static str,
        operands: [Operand; N],
        numel: usize,
        kernel: impl FnOnce(&dyn Backend, [Operand; N]) -> Result<Storage>,
    ) -> Result<Storage> {
        self.goes_through_host(family);
        let mut copies = operands;
        for x in &mut copies {
            *x = self.host_copy(x)?;
        }
        self.device_copy(kernel(cpu(), copies)?, numel)
    }

    /// The same for a kernel with several results; it copies them itself.
    pub(crate) fn compute_on_host<T, const N: usize>(
        &self,
        family: &'static str,
        operands: [Operand; N],
        kernel: impl FnOnce(&dyn Backend, [Operand; N]) -> Result<T>,
    ) -> Result<T> {
        self.goes_through_host(family);
        let mut copies = operands;
        for x in &mut copies {
            *x = self.host_copy(x)?;
        }
        kernel(cpu(), copies)
    }
}

/// The kernels of the CPU.
pub(crate) fn cpu() -> &'static dyn Backend {
    Device::cpu().backend()
}

/// The bytes, little-endian, of the element of a dtype that holds a number.
pub(crate) fn bytes_of(dtype: DType, number: Scalar) -> Result<Vec<u8>> {
    let storage = cpu().full(1, dtype, number)?;
    let layout = Layout::contiguous(1.into());
    let data: HostData = cpu().download(&Operand { storage, layout })?;
    Ok(data.to_le_bytes())
}

/// The words of a parameter that holds a number of a dtype: two for the wide ones.
pub(crate) fn words_of(dtype: DType, number: Scalar) -> Result<Vec<u32>> {
    let mut bytes = bytes_of(dtype, number)?;
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let words = bytes.as_chunks::<4>().0.iter().copied();
    Ok(words.map(u32::from_le_bytes).collect())
}
