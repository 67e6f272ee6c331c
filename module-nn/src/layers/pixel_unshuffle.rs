use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, check_positive, config};
use crate::functional;

/// Rearranges space into channels: the inverse of [`PixelShuffle`](super::PixelShuffle).
///
/// Source: Shi et al., *Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel
/// Convolutional Neural Network* (2016).
///
/// # Shapes
///
/// `[…, channels, height, width]` to `[…, channels · r², height / r, width / r]`.
///
/// # Errors
///
/// Fewer than three dimensions, sizes that `r` does not divide.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::randn([1, 2, 6, 8], DType::F32)?;
/// assert_eq!(PixelUnshuffle::new(2)?.call(x)?.shape().to_string(), "[1, 8, 3, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct PixelUnshuffle {
    downscale_factor: usize,
}

config! {
    /// The arguments of [`PixelUnshuffle`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::from([[[1.0_f32, 2.0], [3.0, 4.0]]]);
    /// let y = PixelUnshuffleConfig::new(2).build()?.call(x)?;
    /// assert_eq!(y.shape().to_string(), "[4, 1, 1]");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct PixelUnshuffleConfig => PixelUnshuffle {
        required {
            /// The divisor of each size.
            downscale_factor: usize,
        }
    }
}

impl Build for PixelUnshuffleConfig {
    type Output = PixelUnshuffle;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A factor of 0.
    fn build(&self) -> Result<PixelUnshuffle> {
        let downscale_factor = self.downscale_factor;
        check_positive("PixelUnshuffle", "downscale_factor", downscale_factor)?;
        Ok(PixelUnshuffle { downscale_factor })
    }
}

impl PixelUnshuffle {
    /// The arguments that it was built from.
    pub fn config(&self) -> PixelUnshuffleConfig {
        PixelUnshuffleConfig {
            downscale_factor: self.downscale_factor,
        }
    }
}

impl Forward for PixelUnshuffle {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        functional::pixel_unshuffle(&input, self.downscale_factor)
    }
}
