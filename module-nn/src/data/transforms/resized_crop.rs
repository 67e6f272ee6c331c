use module_core::{DType, Result, Tensor};

use super::functional::{ResizeMode, check_size, image_sizes, resized_crop};
use super::{Transform, below, check_range, uniform};
use crate::config::{Build, config};

const OP: &str = "RandomResizedCrop";

/// How often a rectangle is drawn until one lies inside the image.
const ATTEMPTS: usize = 10;

config! {
    /// The arguments of [`RandomResizedCrop`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::data::transforms::functional::ResizeMode;
    /// use module_nn::data::transforms::{RandomResizedCropConfig, Transform};
    /// use module_nn::prelude::*;
    ///
    /// // The whole of a square image.
    /// let crop = RandomResizedCropConfig::new([1, 1])
    ///     .scale([1.0, 1.0])
    ///     .ratio([1.0, 1.0])
    ///     .interpolation(ResizeMode::Nearest)
    ///     .build()?;
    /// let image = Tensor::full([3, 4, 4], 7, DType::U8)?;
    /// assert_eq!(crop.apply(&image)?.to_vec::<u8>()?, [7; 3]);
    /// assert!(RandomResizedCropConfig::new([1, 1]).scale([0.5, 2.0]).build().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub struct RandomResizedCropConfig => RandomResizedCrop {
        required {
            /// The height and width of the result.
            size: [usize; 2],
        }
        optional {
            /// The smallest and largest area of the crop, as a fraction of the image's.
            scale: [f64; 2] = [0.08, 1.0],
            /// The smallest and largest ratio of the crop's width to its height.
            ratio: [f64; 2] = [3.0 / 4.0, 4.0 / 3.0],
            /// The interpolation.
            interpolation: ResizeMode = ResizeMode::Bilinear,
        }
    }
}

/// A crop of the image with random position, area and aspect ratio, resized to one size.
///
/// Source: Szegedy et al., *Going Deeper with Convolutions* (2015).
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::{RandomResizedCrop, Transform};
/// use module_nn::prelude::*;
///
/// let crop = RandomResizedCrop::new([4, 4])?;
/// assert_eq!(crop.apply(&Tensor::ones([3, 9, 7], DType::U8)?)?.shape().to_string(), "[3, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RandomResizedCrop {
    config: RandomResizedCropConfig,
    log_ratio: [f64; 2],
}

impl Build for RandomResizedCropConfig {
    type Output = RandomResizedCrop;

    /// The transform.
    ///
    /// # Errors
    ///
    /// A size of 0; a scale or ratio that decreases or is not above 0, or a scale above 1.
    fn build(&self) -> Result<RandomResizedCrop> {
        check_size(OP, self.size)?;
        check_range(OP, "scale", self.scale, [f64::MIN_POSITIVE, 1.0])?;
        let log_ratio = log_ratio(OP, self.ratio)?;
        let config = self.clone();
        Ok(RandomResizedCrop { config, log_ratio })
    }
}

/// The logarithms of a range of ratios, in `f32`.
pub(super) fn log_ratio(op: &'static str, ratio: [f64; 2]) -> Result<[f64; 2]> {
    check_range(op, "ratio", ratio, [f64::MIN_POSITIVE, f64::MAX])?;
    let log = Tensor::from(ratio).to_dtype(DType::F32)?.log()?;
    let log = log.to_dtype(DType::F64)?.to_vec::<f64>()?;
    match log[..] {
        [low, high] => Ok([low, high]),
        _ => Ok([0.0, 0.0]),
    }
}

/// Height and width of a rectangle with random area and aspect ratio.
pub(super) fn rectangle(area: usize, scale: [f64; 2], log_ratio: [f64; 2]) -> Result<[f64; 2]> {
    let area = area as f64 * uniform(scale)?;
    let ratio = Tensor::from([uniform(log_ratio)? as f32]).exp()?;
    let ratio = f64::from(ratio.item::<f32>()?);
    Ok([area / ratio, area * ratio].map(|square| square.sqrt().round_ties_even()))
}

impl Transform for RandomResizedCrop {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        let config = &self.config;
        let [_, height, width] = image_sizes(OP, image)?;
        let (start, of) = self.part(height, width)?;
        let start = start.map(|place| place as isize);
        resized_crop(image, start, of, config.size, config.interpolation)
    }
}

impl RandomResizedCrop {
    /// The start, height and width of the crop.
    fn part(&self, height: usize, width: usize) -> Result<([usize; 2], [usize; 2])> {
        for _ in 0..ATTEMPTS {
            let [h, w] = rectangle(height * width, self.config.scale, self.log_ratio)?;
            let (h, w) = (h as usize, w as usize);
            if (1..=width).contains(&w) && (1..=height).contains(&h) {
                let top = below(height - h + 1)?;
                return Ok(([top, below(width - w + 1)?], [h, w]));
            }
        }
        // The center, with the closest possible aspect ratio.
        let ratio = width as f64 / height as f64;
        let [least, most] = self.config.ratio;
        let (h, w) = if ratio < least {
            ((width as f64 / least).round_ties_even() as usize, width)
        } else if ratio > most {
            (height, (height as f64 * most).round_ties_even() as usize)
        } else {
            (height, width)
        };
        let (h, w) = (h.min(height), w.min(width));
        Ok(([(height - h) / 2, (width - w) / 2], [h, w]))
    }
}
