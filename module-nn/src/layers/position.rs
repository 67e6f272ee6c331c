//! Code that position layers share: where the angles are in a vector, and the angles themselves.

use module_core::{DType, Result, Tensor};
use serde::{Deserialize, Serialize};

/// Where the two components of one frequency are in a vector.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let config = RotaryEmbeddingConfig::new(8).layout(PositionLayout::Interleaved);
/// let rotary = config.build()?;
/// assert_eq!(rotary.call(Tensor::randn([1, 2, 5, 8], DType::F32)?)?.shape().to_string(), "[1, 2, 5, 8]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PositionLayout {
    /// Side by side: features 0 and 1, 2 and 3, … (Vaswani et al., RoFormer, GPT-J).
    Interleaved,
    /// In two halves: features 0 and `dim/2`, 1 and `dim/2 + 1`, … (tensor2tensor, GPT-NeoX, Llama).
    HalfSplit,
}

impl PositionLayout {
    /// The name in a configuration.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Interleaved => "interleaved",
            Self::HalfSplit => "half_split",
        }
    }

    /// One vector from two parts of equal shape.
    pub(super) fn join(self, first: &Tensor, second: &Tensor) -> Result<Tensor> {
        match self {
            Self::Interleaved => Tensor::stack(&[first, second], -1)?.flatten(-2, -1),
            Self::HalfSplit => Tensor::cat(&[first, second], -1),
        }
    }

    /// The two parts of a vector of even size.
    pub(super) fn part(self, x: &Tensor) -> Result<[Tensor; 2]> {
        let half = x.size(-1)? / 2;
        match self {
            Self::Interleaved => {
                let pairs = x.unflatten(-1, [half, 2])?;
                Ok([pairs.select(-1, 0)?, pairs.select(-1, 1)?])
            }
            Self::HalfSplit => Ok([x.narrow(-1, 0..half)?, x.narrow(-1, half..2 * half)?]),
        }
    }
}

/// Cosine and sine of every position times every frequency, `[…, frequencies]`, computed in `F64` and
/// rounded to `dtype`.
pub(super) fn cos_sin(
    positions: &Tensor,
    frequencies: &[f64],
    dtype: DType,
) -> Result<[Tensor; 2]> {
    let frequencies = Tensor::from_vec(frequencies.to_vec(), frequencies.len())?;
    let frequencies = frequencies.to_device(&positions.device())?;
    let angles = positions
        .to_dtype(DType::F64)?
        .unsqueeze(-1)?
        .mul(&frequencies)?;
    Ok([
        angles.cos()?.to_dtype(dtype)?,
        angles.sin()?.to_dtype(dtype)?,
    ])
}
