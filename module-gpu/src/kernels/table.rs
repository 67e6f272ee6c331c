//! Tables that the host computes for kernels: places and weights that depend on a geometry, and not on elements.

use module_tensor::backend::{Operand, Storage};
use module_tensor::{DType, Layout, Result};

use crate::gpu::Gpu;

impl Gpu {
    /// Words in the memory of the device; they are sent without waiting.
    pub(crate) fn table(&self, words: &[u32]) -> Result<Operand> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let storage: Storage = self.send(DType::U32, &bytes)?;
        let layout = Layout::contiguous(words.len().into());
        Ok(Operand { storage, layout })
    }
}

/// Lists of places, one for each of some others: where each list begins, and after the last where it ends, then the lists.
pub(crate) fn lists(lists: &[Vec<u32>]) -> Vec<u32> {
    let mut words = Vec::new();
    let mut start = lists.len() as u32 + 1;
    words.push(start);
    for list in lists {
        start += list.len() as u32;
        words.push(start);
    }
    words.extend(lists.iter().flatten());
    words
}
