use std::fmt;

use module_core::{Forward, InterpolateMode, Module, Result, Tensor};

use super::UpsampleConfig;
use super::upsample::Resizing;
use crate::OneOrEach;
use crate::config::{Build, config};

/// Resizes an image by nearest-neighbor interpolation.
///
/// It is an older form of [`Upsample`](super::Upsample) with the mode nearest.
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
/// let up = UpsamplingNearest2dConfig::new().scale_factor(2.0).build()?;
/// assert_eq!(up.call(x)?.shape().to_string(), "[1, 3, 8, 10]");
///
/// let up: UpsamplingNearest2d = UpsamplingNearest2dConfig::new().size([1, 4]).build()?;
/// let y = up.call(Tensor::from([[[0.0_f32, 2.0]]]).unsqueeze(0)?)?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 0.0, 2.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct UpsamplingNearest2d {
    #[module(skip)]
    resizing: Resizing,
}

config! {
    /// The arguments of [`UpsamplingNearest2d`], exactly one of which is given.
    pub struct UpsamplingNearest2dConfig => UpsamplingNearest2d {
        optional {
            /// The height and width of the output; one number is used for both.
            size: Option<OneOrEach<usize>> = None,
            /// The factor of the input sizes.
            scale_factor: Option<OneOrEach<f64>> = None,
        }
    }
}

impl Build for UpsamplingNearest2dConfig {
    type Output = UpsamplingNearest2d;

    /// The layer.
    ///
    /// # Errors
    ///
    /// Neither argument or both, a size of 0, a factor that is not positive and finite.
    fn build(&self) -> Result<UpsamplingNearest2d> {
        let config = UpsampleConfig {
            size: self.size.clone(),
            scale_factor: self.scale_factor.clone(),
            mode: InterpolateMode::Nearest,
            align_corners: None,
            recompute_scale_factor: None,
        };
        let resizing = Resizing::new("UpsamplingNearest2d", &config)?;
        Ok(UpsamplingNearest2d { resizing })
    }
}

impl UpsamplingNearest2d {
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.resizing.print(f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> UpsamplingNearest2dConfig {
        let UpsampleConfig {
            size, scale_factor, ..
        } = self.resizing.config.clone();
        UpsamplingNearest2dConfig { size, scale_factor }
    }
}

impl Forward for UpsamplingNearest2d {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.resizing.run(&input)
    }
}
