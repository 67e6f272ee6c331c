use std::fmt;

use module_core::{Forward, InterpolateMode, Module, Result, Tensor};

use super::UpsampleConfig;
use super::upsample::Resizing;
use crate::OneOrEach;
use crate::config::{Build, config};

/// Resizes an image by bilinear interpolation with aligned corners.
///
/// It is an older form of [`Upsample`](super::Upsample) with the mode bilinear and aligned corners.
///
/// # Shapes
///
/// `[batch, channels, height, width]` to the same with `size`, or with `⌊size · scale_factor⌋`.
///
/// # Errors
///
/// A wrong number of dimensions, an empty input or output, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::randn([1, 3, 4, 5], DType::F32)?;
/// let up = UpsamplingBilinear2dConfig::new().scale_factor(2.0).build()?;
/// assert_eq!(up.call(x)?.shape().to_string(), "[1, 3, 8, 10]");
///
/// let up: UpsamplingBilinear2d = UpsamplingBilinear2dConfig::new().size([2, 3]).build()?;
/// let y = up.call(Tensor::from([[[0.0_f32, 2.0]]]).unsqueeze(0)?)?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct UpsamplingBilinear2d {
    #[module(skip)]
    resizing: Resizing,
}

config! {
    /// The arguments of [`UpsamplingBilinear2d`], exactly one of which is given.
    pub struct UpsamplingBilinear2dConfig => UpsamplingBilinear2d {
        optional {
            /// The height and width of the output; one number is used for both.
            size: Option<OneOrEach<usize>> = None,
            /// The factor of the input sizes.
            scale_factor: Option<OneOrEach<f64>> = None,
        }
    }
}

impl Build for UpsamplingBilinear2dConfig {
    type Output = UpsamplingBilinear2d;

    /// The layer.
    ///
    /// # Errors
    ///
    /// Neither argument or both, a size of 0, a factor that is not positive and finite.
    fn build(&self) -> Result<UpsamplingBilinear2d> {
        let config = UpsampleConfig {
            size: self.size.clone(),
            scale_factor: self.scale_factor.clone(),
            mode: InterpolateMode::Bilinear,
            align_corners: Some(true),
            recompute_scale_factor: None,
        };
        let resizing = Resizing::new("UpsamplingBilinear2d", &config)?;
        Ok(UpsamplingBilinear2d { resizing })
    }
}

impl UpsamplingBilinear2d {
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.resizing.print(f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> UpsamplingBilinear2dConfig {
        let UpsampleConfig {
            size, scale_factor, ..
        } = self.resizing.config.clone();
        UpsamplingBilinear2dConfig { size, scale_factor }
    }
}

impl Forward for UpsamplingBilinear2d {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.resizing.run(&input)
    }
}
