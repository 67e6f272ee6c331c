use serde::{Deserialize, Serialize};

use crate::PadMode;

/// The padding mode of a convolution.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let config = Conv2dConfig::new(1, 4, 3).padding(1).padding_mode(PaddingMode::Circular);
/// let y = config.build()?.call(Tensor::randn([2, 1, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[2, 4, 8, 8]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PaddingMode {
    /// Zeros.
    #[default]
    Zeros,
    /// The image mirrored at its edge, which is not repeated.
    Reflect,
    /// The edge repeated.
    Replicate,
    /// The other end of the image.
    Circular,
}

impl PaddingMode {
    /// PyTorch's name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Zeros => "zeros",
            Self::Reflect => "reflect",
            Self::Replicate => "replicate",
            Self::Circular => "circular",
        }
    }

    /// The mode of a padding before the convolution; zeros need none.
    pub(super) const fn pad_mode(self) -> Option<PadMode> {
        match self {
            Self::Zeros => None,
            Self::Reflect => Some(PadMode::Reflect),
            Self::Replicate => Some(PadMode::Replicate),
            Self::Circular => Some(PadMode::Circular),
        }
    }
}
