//! Elements of one value.

use module_tensor::backend::Storage;
use module_tensor::{DType, Result, Scalar};

use crate::elem::Elem;
use crate::gpu::Gpu;
use crate::host::bytes_of;
use crate::map::Map;
use crate::storage::GpuStorage;

impl Gpu {
    /// `numel` elements of one value.
    pub(crate) fn fill(&self, numel: usize, dtype: DType, value: Scalar) -> Result<Storage> {
        let bytes = bytes_of(dtype, value)?;
        // Words are written whole, whatever elements they hold.
        let mut pattern = bytes.iter().copied().cycle();
        let mut word = || {
            let mut word = [0; 4];
            word.fill_with(|| pattern.next().unwrap_or_default());
            u32::from_le_bytes(word)
        };
        let parameters = vec![word(), word()];
        let bits = Elem::bits(dtype);
        let (elem, words, code) = match bits {
            Elem::Bits8 => (
                bits,
                numel,
                "fn element(i: u32) -> vec2<u32> { return vec2<u32>($2, $3); }\n",
            ),
            _ => (
                Elem::Bits4,
                numel.div_ceil(bits.per_word()),
                "fn element(i: u32) -> u32 { return $2; }\n",
            ),
        };
        // Allocated as words, and then taken for elements.
        let dtype_of_words = if elem == Elem::Bits8 {
            dtype
        } else {
            DType::U32
        };
        let storage = self.map(Map {
            op: "full",
            key: "full".to_owned(),
            reads: &[],
            out: elem,
            dtype: dtype_of_words,
            numel: words,
            parameters,
            index_size: None,
            code: &|| code.to_owned(),
        })?;
        let data: &GpuStorage = storage.data("full", self.device())?;
        Ok(Storage::new(GpuStorage {
            memory: data.memory.clone(),
            dtype,
            numel,
            device: data.device,
        }))
    }
}
