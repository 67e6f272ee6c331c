// A loop is vectorized only if the functions that it calls are inlined.
#![allow(clippy::inline_always)]

use std::marker::PhantomData;

use super::numbers::Unpack;
use super::{q4_0, q4_k, q6_k, q8_0};
use crate::simd::{Loop, run_at_best_level};
use crate::zip::zip_mut;
use crate::{Error, Result};

/// A block layout of ggml, the library of llama.cpp.
///
/// | format | elements | bytes | formula of an element |
/// |---|---|---|---|
/// | `Q8_0` | 32 | 34 | `d·q`, eight bits each |
/// | `Q4_0` | 32 | 18 | `d·(q - 8)`, four bits each |
/// | `Q4K` | 256 | 144 | `d·s·q - m·t` with 6-bit scales `s` and minima `t` for each 32, four bits each |
/// | `Q6K` | 256 | 210 | `d·s·(q - 32)` with 8-bit scales `s` for each 16, six bits each |
///
/// `d` and `m` are half-precision numbers, one for each block. Values and bytes are those of `ggml-quants.c`.
///
/// # Example
///
/// ```
/// use module_tensor::BlockFormat;
///
/// let format = BlockFormat::Q8_0;
/// assert_eq!((format.name(), format.numel(), format.size_in_bytes()), ("q8_0", 32, 34));
/// let values: Vec<f32> = (-16_i8..16).map(f32::from).collect();
/// let bytes = format.pack(&values)?;
/// let mut unpacked = vec![0.0; 32];
/// format.unpack(&bytes, &mut unpacked);
/// let error = values.iter().zip(&unpacked).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
/// assert!(error < 16.0 / 127.0, "{error}");
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockFormat {
    /// Eight bits each, a scale for 32.
    Q8_0,
    /// Four bits each, a scale for 32.
    Q4_0,
    /// `Q4_K`: four bits each, scales and minima for 32, in blocks of 256.
    Q4K,
    /// `Q6_K`: six bits each, scales for 16, in blocks of 256.
    Q6K,
}

impl BlockFormat {
    /// The name, such as `q8_0` or `q4_k`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Q8_0 => "q8_0",
            Self::Q4_0 => "q4_0",
            Self::Q4K => "q4_k",
            Self::Q6K => "q6_k",
        }
    }

    /// The elements of a block.
    pub fn numel(self) -> usize {
        match self {
            Self::Q8_0 => q8_0::NUMEL,
            Self::Q4_0 => q4_0::NUMEL,
            Self::Q4K => q4_k::NUMEL,
            Self::Q6K => q6_k::NUMEL,
        }
    }

    /// The bytes of a block.
    pub fn size_in_bytes(self) -> usize {
        match self {
            Self::Q8_0 => q8_0::BYTES,
            Self::Q4_0 => q4_0::BYTES,
            Self::Q4K => q4_k::BYTES,
            Self::Q6K => q6_k::BYTES,
        }
    }

    /// Unpacks whole blocks; leftover elements or bytes are ignored.
    pub fn unpack(self, bytes: &[u8], values: &mut [f32]) {
        match self {
            Self::Q8_0 => unpack_blocks::<q8_0::Block, _, _>(bytes, values),
            Self::Q4_0 => unpack_blocks::<q4_0::Block, _, _>(bytes, values),
            Self::Q4K => unpack_blocks::<q4_k::Block, _, _>(bytes, values),
            Self::Q6K => unpack_blocks::<q6_k::Block, _, _>(bytes, values),
        }
    }

    /// The bytes of whole blocks of values; leftover values are ignored.
    ///
    /// # Errors
    ///
    /// A block whose values are not finite, or so large that half precision cannot hold its scale.
    pub fn pack(self, values: &[f32]) -> Result<Vec<u8>> {
        let (numel, size) = (self.numel(), self.size_in_bytes());
        let mut bytes = vec![0; values.len() / numel * size];
        let pack = match self {
            Self::Q8_0 => q8_0::pack,
            Self::Q4_0 => q4_0::pack,
            Self::Q4K => q4_k::pack,
            Self::Q6K => q6_k::pack,
        };
        let blocks = bytes.chunks_exact_mut(size);
        for (values, block) in values.chunks_exact(numel).zip(blocks) {
            let odd = values.iter().find(|value| !value.is_finite());
            if odd.is_none() && pack(values, block) {
                continue;
            }
            let largest = values.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            let value = odd.copied().unwrap_or(largest);
            let problem =
                "must be finite, and so small that half precision holds the scale of its block";
            return Err(Error::argument(self.name(), "value", value, problem));
        }
        Ok(bytes)
    }
}

fn unpack_blocks<B: Unpack<BYTES, NUMEL>, const BYTES: usize, const NUMEL: usize>(
    bytes: &[u8],
    values: &mut [f32],
) {
    run_at_best_level(Blocks::<B, BYTES, NUMEL> {
        blocks: bytes.as_chunks().0,
        values: values.as_chunks_mut().0,
        format: PhantomData,
    });
}

/// Unpacks consecutive blocks.
struct Blocks<'a, B, const BYTES: usize, const NUMEL: usize> {
    blocks: &'a [[u8; BYTES]],
    values: &'a mut [[f32; NUMEL]],
    format: PhantomData<B>,
}

impl<B, const BYTES: usize, const NUMEL: usize> Loop for Blocks<'_, B, BYTES, NUMEL>
where
    B: Unpack<BYTES, NUMEL>,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (values, block) in zip_mut(self.values, self.blocks) {
            B::unpack(block, values);
        }
    }
}
