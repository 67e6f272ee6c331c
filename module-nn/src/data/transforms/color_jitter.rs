use module_core::rng::default_generator;
use module_core::{Result, Tensor};

use super::functional::{
    adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation, rgb_to_grayscale,
};
use super::{Transform, check_range, draw, uniform};
use crate::config::{Build, check_between, config};

const OP: &str = "ColorJitter";

config! {
    /// The arguments of [`ColorJitter`]: the smallest and largest factor of each change. torchvision's 0.4 is `[0.6, 1.4]`,
    /// and for the hue `[-0.4, 0.4]`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::data::transforms::{ColorJitter, ColorJitterConfig, Transform};
    /// use module_nn::prelude::*;
    ///
    /// // Without color and without contrast, every pixel has the mean of the gray values.
    /// let config = ColorJitterConfig::new().saturation([0.0, 0.0]).contrast([0.0, 0.0]);
    /// let jitter: ColorJitter = config.build()?;
    /// let image = Tensor::from([[[0_u8, 200]], [[0, 200]], [[0, 200]]]);
    /// let pixels = jitter.apply(&image)?.to_vec::<u8>()?;
    /// assert!(pixels.iter().all(|pixel| *pixel == pixels[0]));
    /// # Ok::<(), Error>(())
    /// ```
    pub struct ColorJitterConfig => ColorJitter {
        optional {
            /// The range of the brightness; 1 is the image.
            brightness: Option<[f64; 2]> = None,
            /// The range of the contrast; 1 is the image.
            contrast: Option<[f64; 2]> = None,
            /// The range of the saturation; 1 is the image.
            saturation: Option<[f64; 2]> = None,
            /// The range of the hue, in turns from -0.5 to 0.5.
            hue: Option<[f64; 2]> = None,
        }
    }
}

/// Changes brightness, contrast, saturation and hue of the image at random, in random order.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::{ColorJitterConfig, Transform};
/// use module_nn::prelude::*;
///
/// let jitter = ColorJitterConfig::new().brightness([0.6, 1.4]).hue([-0.1, 0.1]).build()?;
/// assert_eq!(jitter.apply(&Tensor::ones([3, 4, 6], DType::U8)?)?.shape().to_string(), "[3, 4, 6]");
/// assert!(ColorJitterConfig::new().hue([0.0, 0.6]).build().is_err());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ColorJitter {
    config: ColorJitterConfig,
}

impl Build for ColorJitterConfig {
    type Output = ColorJitter;

    /// The transform.
    ///
    /// # Errors
    ///
    /// A decreasing range, a factor below 0, a hue beyond half a turn.
    fn build(&self) -> Result<ColorJitter> {
        let any = [0.0, f64::MAX];
        let ranges = [
            ("brightness", self.brightness, any, 1.0),
            ("contrast", self.contrast, any, 1.0),
            ("saturation", self.saturation, any, 1.0),
            ("hue", self.hue, [-0.5, 0.5], 0.0),
        ];
        let mut checked = [None; 4];
        for ((name, range, bounds, none), checked) in ranges.into_iter().zip(&mut checked) {
            range.map_or(Ok(()), |range| check_range(OP, name, range, bounds))?;
            // torchvision draws nothing for a range that changes nothing.
            *checked = range.filter(|range| *range != [none; 2]);
        }
        let [brightness, contrast, saturation, hue] = checked;
        let config = Self {
            brightness,
            contrast,
            saturation,
            hue,
        };
        Ok(ColorJitter { config })
    }
}

impl Transform for ColorJitter {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        let config = &self.config;
        let order = draw::permutation(&default_generator(), 4)?;
        let drawn = |range: Option<[f64; 2]>| range.map(uniform).transpose();
        let brightness = drawn(config.brightness)?;
        let contrast = drawn(config.contrast)?;
        let saturation = drawn(config.saturation)?;
        let hue = drawn(config.hue)?;
        order.into_iter().try_fold(image.clone(), |image, change| {
            match (change, brightness, contrast, saturation, hue) {
                (0, Some(factor), ..) => adjust_brightness(&image, factor),
                (1, _, Some(factor), ..) => adjust_contrast(&image, factor),
                (2, _, _, Some(factor), _) => adjust_saturation(&image, factor),
                (3, _, _, _, Some(factor)) => adjust_hue(&image, factor),
                _ => Ok(image),
            }
        })
    }
}

/// Converts the image to gray, with as many channels, with some probability.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::{RandomGrayscale, Transform};
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[100_u8]], [[0]], [[0]]]);
/// assert_eq!(RandomGrayscale::with_probability(1.0)?.apply(&image)?.to_vec::<u8>()?, [29, 29, 29]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomGrayscale {
    p: f64,
}

impl RandomGrayscale {
    /// Makes the transform with a probability of 0.1.
    pub fn new() -> Self {
        Self { p: 0.1 }
    }

    /// Makes the transform with probability `p`.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`.
    pub fn with_probability(p: f64) -> Result<Self> {
        check_between("RandomGrayscale", "p", p, [0.0, 1.0])?;
        Ok(Self { p })
    }
}

impl Default for RandomGrayscale {
    fn default() -> Self {
        Self::new()
    }
}

impl Transform for RandomGrayscale {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        match uniform([0.0, 1.0])? < self.p {
            true => rgb_to_grayscale(image),
            false => Ok(image.clone()),
        }
    }
}
