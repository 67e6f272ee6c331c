use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, check_positive, config};
use crate::functional;

/// Rearranges channels into space: `r²` channels become one channel with `r` by `r` times the pixels.
///
/// `y[…, c, h·r + i, w·r + j] = x[…, c·r² + i·r + j, h, w]`.
///
/// Source: Shi et al., *Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel
/// Convolutional Neural Network* (2016).
///
/// # Shapes
///
/// `[…, channels, height, width]` to `[…, channels / r², height · r, width · r]`.
///
/// # Errors
///
/// Fewer than three dimensions, channels that `r²` does not divide.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::randn([1, 8, 3, 4], DType::F32)?;
/// assert_eq!(PixelShuffle::new(2)?.call(x)?.shape().to_string(), "[1, 2, 6, 8]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct PixelShuffle {
    upscale_factor: usize,
}

config! {
    /// The arguments of [`PixelShuffle`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0, 4.0]).reshape([4, 1, 1])?;
    /// let y = PixelShuffleConfig::new(2).build()?.call(x)?;
    /// assert_eq!((y.size(1)?, y.to_vec::<f32>()?), (2, vec![1.0, 2.0, 3.0, 4.0]));
    /// # Ok::<(), Error>(())
    /// ```
    pub struct PixelShuffleConfig => PixelShuffle {
        required {
            /// The factor of each size.
            upscale_factor: usize,
        }
    }
}

impl Build for PixelShuffleConfig {
    type Output = PixelShuffle;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A factor of 0.
    fn build(&self) -> Result<PixelShuffle> {
        let upscale_factor = self.upscale_factor;
        check_positive("PixelShuffle", "upscale_factor", upscale_factor)?;
        Ok(PixelShuffle { upscale_factor })
    }
}

impl PixelShuffle {
    /// The arguments that it was built from.
    pub fn config(&self) -> PixelShuffleConfig {
        PixelShuffleConfig {
            upscale_factor: self.upscale_factor,
        }
    }
}

impl Forward for PixelShuffle {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        functional::pixel_shuffle(&input, self.upscale_factor)
    }
}
