use module_core::{DType, Error, Result, Tensor};

use super::functional::{
    AffineOptions, InterpolationMode, RotateOptions, adjust_brightness, adjust_contrast,
    adjust_saturation, adjust_sharpness, affine, autocontrast, equalize, image_sizes, posterize,
    rotate, solarize,
};
use super::{Transform, below, uniform};
use crate::config::{Build, check_steps, config};

const OP: &str = "RandAugment";

config! {
    /// The arguments of [`RandAugment`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::data::transforms::functional::InterpolationMode;
    /// use module_nn::data::transforms::{RandAugment, RandAugmentConfig, Transform};
    /// use module_nn::prelude::*;
    ///
    /// let augment: RandAugment = RandAugmentConfig::new()
    ///     .num_magnitude_bins(10)
    ///     .magnitude(9)
    ///     .interpolation(InterpolationMode::Bilinear)
    ///     .fill([128.0])
    ///     .build()?;
    /// assert_eq!(augment.apply(&Tensor::ones([3, 4, 6], DType::U8)?)?.dtype(), DType::U8);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct RandAugmentConfig => RandAugment {
        optional {
            /// The number of changes applied in sequence.
            num_ops: usize = 2,
            /// The magnitude, from 0 to below `num_magnitude_bins`.
            magnitude: usize = 9,
            /// The number of magnitudes.
            num_magnitude_bins: usize = 31,
            /// The interpolation.
            interpolation: InterpolationMode = InterpolationMode::Nearest,
            /// The fill outside the image: nothing for 0, one number, or one for each channel.
            fill: Vec<f64> = Vec::new(),
        }
    }
}

/// Applies a few changes of equal magnitude, drawn from fourteen: shear, translation, rotation, brightness, color,
/// contrast, sharpness, posterization, solarization, autocontrast, equalization, or nothing.
///
/// Source: Cubuk et al., *RandAugment: Practical automated data augmentation with a reduced search space* (2019).
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::{RandAugmentConfig, Transform};
/// use module_nn::prelude::*;
///
/// let augment = RandAugmentConfig::new().num_ops(3).magnitude(5).build()?;
/// assert_eq!(augment.apply(&Tensor::ones([3, 4, 6], DType::U8)?)?.shape().to_string(), "[3, 4, 6]");
/// assert!(RandAugmentConfig::new().magnitude(31).build().is_err());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RandAugment {
    config: RandAugmentConfig,
}

impl Build for RandAugmentConfig {
    type Output = RandAugment;

    /// The transform.
    ///
    /// # Errors
    ///
    /// Fewer than two magnitudes, a magnitude that is not one of them, more than 65,536 changes.
    fn build(&self) -> Result<RandAugment> {
        let (magnitude, bins) = (self.magnitude, self.num_magnitude_bins);
        if bins < 2 {
            let problem = "must be at least 2";
            return Err(Error::argument(OP, "num_magnitude_bins", bins, problem));
        }
        if magnitude >= bins {
            let problem = format!("must be below num_magnitude_bins = {bins}");
            return Err(Error::argument(OP, "magnitude", magnitude, problem));
        }
        check_steps(OP, "num_ops", self.num_ops)?;
        let config = self.clone();
        Ok(RandAugment { config })
    }
}

/// The changes in the order in which they are drawn.
#[derive(Clone, Copy)]
enum Change {
    Identity,
    ShearX,
    ShearY,
    TranslateX,
    TranslateY,
    Rotate,
    Brightness,
    Color,
    Contrast,
    Sharpness,
    Posterize,
    Solarize,
    AutoContrast,
    Equalize,
}

const CHANGES: [Change; 14] = [
    Change::Identity,
    Change::ShearX,
    Change::ShearY,
    Change::TranslateX,
    Change::TranslateY,
    Change::Rotate,
    Change::Brightness,
    Change::Color,
    Change::Contrast,
    Change::Sharpness,
    Change::Posterize,
    Change::Solarize,
    Change::AutoContrast,
    Change::Equalize,
];

impl Transform for RandAugment {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        let [_, height, width] = image_sizes(OP, image)?;
        let mut image = image.clone();
        for _ in 0..self.config.num_ops {
            let change = CHANGES.get(below(CHANGES.len())?).copied();
            let change = change.unwrap_or(Change::Identity);
            let magnitude = self.magnitude(change, height, width)?;
            image = self.change(&image, change, magnitude)?;
        }
        Ok(image)
    }
}

/// `torch.linspace(first, last, count)[index]`, of `f32` from the nearer end, rounded once.
fn step_of([first, last]: [f32; 2], index: usize, count: usize) -> f32 {
    let step = (last - first) / (count - 1) as f32;
    match index < count / 2 {
        true => step.mul_add(index as f32, first),
        false => step.mul_add(-((count - 1 - index) as f32), last),
    }
}

impl RandAugment {
    /// The magnitude of a change, with a random sign if it has one.
    fn magnitude(&self, change: Change, height: usize, width: usize) -> Result<f64> {
        use Change as C;
        let (index, bins) = (self.config.magnitude, self.config.num_magnitude_bins);
        let part = 150.0 / 331.0;
        let (last, signed) = match change {
            C::Identity | C::AutoContrast | C::Equalize => return Ok(0.0),
            C::ShearX | C::ShearY => ([0.0, 0.3], true),
            C::TranslateX => ([0.0, part * width as f64], true),
            C::TranslateY => ([0.0, part * height as f64], true),
            C::Rotate => ([0.0, 30.0], true),
            C::Brightness | C::Color | C::Contrast | C::Sharpness => ([0.0, 0.9], true),
            C::Solarize => ([1.0, 0.0], false),
            C::Posterize => {
                let taken = index as f32 / ((bins - 1) as f64 / 4.0) as f32;
                return Ok(f64::from((8.0 - taken).round_ties_even()));
            }
        };
        let magnitude = f64::from(step_of(last.map(|end| end as f32), index, bins));
        match signed && uniform([0.0, 1.0])? <= 0.5 {
            true => Ok(-magnitude),
            false => Ok(magnitude),
        }
    }

    fn change(&self, image: &Tensor, change: Change, magnitude: f64) -> Result<Tensor> {
        let config = &self.config;
        let options = || {
            let options = AffineOptions::new().interpolation(config.interpolation);
            options.fill(config.fill.clone())
        };
        let degrees = magnitude.atan() * (180.0 / std::f64::consts::PI);
        match change {
            Change::Identity => Ok(image.clone()),
            Change::ShearX => affine(image, &options().shear([degrees, 0.0]).center([0.0, 0.0])),
            Change::ShearY => affine(image, &options().shear([0.0, degrees]).center([0.0, 0.0])),
            Change::TranslateX => affine(image, &options().translate([magnitude.trunc(), 0.0])),
            Change::TranslateY => affine(image, &options().translate([0.0, magnitude.trunc()])),
            Change::Rotate => {
                let options = RotateOptions::new().interpolation(config.interpolation);
                rotate(image, magnitude, &options.fill(config.fill.clone()))
            }
            Change::Brightness => adjust_brightness(image, 1.0 + magnitude),
            Change::Color => adjust_saturation(image, 1.0 + magnitude),
            Change::Contrast => adjust_contrast(image, 1.0 + magnitude),
            Change::Sharpness => adjust_sharpness(image, 1.0 + magnitude),
            Change::Posterize => posterize(image, magnitude as u32),
            Change::Solarize => {
                let largest = if image.dtype() == DType::U8 {
                    255.0
                } else {
                    1.0
                };
                solarize(image, largest * magnitude)
            }
            Change::AutoContrast => autocontrast(image),
            Change::Equalize => equalize(image),
        }
    }
}
