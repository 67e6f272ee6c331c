use module_core::{Error, Result, Tensor};

use super::functional::{
    AffineOptions, InterpolationMode, RotateOptions, affine, image_sizes, rotate,
};
use super::{Transform, check_range, uniform};
use crate::config::{Build, config};

config! {
    /// The arguments of [`RandomRotation`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::data::transforms::functional::InterpolationMode;
    /// use module_nn::data::transforms::{RandomRotationConfig, Transform};
    /// use module_nn::prelude::*;
    ///
    /// let image = Tensor::from([[[1_u8, 2, 3]]]);
    /// let turn = RandomRotationConfig::new([90.0, 90.0]).expand(true).build()?;
    /// assert_eq!(turn.apply(&image)?.to_vec::<u8>()?, [3, 2, 1]);
    /// // Half a turn around the middle of the first pixel.
    /// let turn = RandomRotationConfig::new([180.0, 180.0])
    ///     .center([0.5, 0.5])
    ///     .interpolation(InterpolationMode::Bilinear)
    ///     .fill([9.0])
    ///     .build()?;
    /// assert_eq!(turn.apply(&image)?.to_vec::<u8>()?, [1, 9, 9]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct RandomRotationConfig => RandomRotation {
        required {
            /// The smallest and largest angle in degrees, counterclockwise.
            degrees: [f64; 2],
        }
        optional {
            /// The interpolation.
            interpolation: InterpolationMode = InterpolationMode::Nearest,
            /// Whether the result is large enough for the whole rotated image.
            expand: bool = false,
            /// The fixed point, x and y in pixels from the upper left corner; by default the center.
            center: Option<[f64; 2]> = None,
            /// The fill outside the image: one number, or one for each channel.
            fill: Vec<f64> = vec![0.0],
        }
    }
}

/// Rotates the image by a random angle.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::{RandomRotation, Transform};
/// use module_nn::prelude::*;
///
/// let turn = RandomRotation::new([-30.0, 30.0])?;
/// assert_eq!(turn.apply(&Tensor::ones([3, 4, 4], DType::U8)?)?.shape().to_string(), "[3, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RandomRotation {
    degrees: [f64; 2],
    options: RotateOptions,
}

const ANY: [f64; 2] = [f64::MIN, f64::MAX];

impl Build for RandomRotationConfig {
    type Output = RandomRotation;

    /// The transform.
    ///
    /// # Errors
    ///
    /// Angles that decrease or are not finite.
    fn build(&self) -> Result<RandomRotation> {
        check_range("RandomRotation", "degrees", self.degrees, ANY)?;
        let options = RotateOptions::new().interpolation(self.interpolation);
        let options = options.expand(self.expand).center(self.center);
        Ok(RandomRotation {
            degrees: self.degrees,
            options: options.fill(self.fill.clone()),
        })
    }
}

impl Transform for RandomRotation {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        rotate(image, uniform(self.degrees)?, &self.options)
    }
}

config! {
    /// The arguments of [`RandomAffine`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::data::transforms::functional::InterpolationMode;
    /// use module_nn::data::transforms::{RandomAffine, RandomAffineConfig, Transform};
    /// use module_nn::prelude::*;
    ///
    /// let affine: RandomAffine = RandomAffineConfig::new([0.0, 0.0])
    ///     .shear_x([-20.0, 20.0])
    ///     .shear_y([-20.0, 20.0])
    ///     .interpolation(InterpolationMode::Bilinear)
    ///     .fill([7.0])
    ///     .build()?;
    /// let image = Tensor::full([1, 8, 8], 7, DType::U8)?;
    /// // Only at the edges does the fill mix with the image.
    /// assert_eq!(affine.apply(&image)?.to_vec::<u8>()?[8 * 3 + 3], 7);
    /// // Half a turn around the middle of the first pixel.
    /// let turn = RandomAffineConfig::new([180.0, 180.0]).center([0.5, 0.5]).fill([9.0]).build()?;
    /// assert_eq!(turn.apply(&Tensor::from([[[1_u8, 2, 3]]]))?.to_vec::<u8>()?, [1, 9, 9]);
    /// assert!(RandomAffineConfig::new([0.0, 0.0]).shear_y([0.0, 1.0]).build().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub struct RandomAffineConfig => RandomAffine {
        required {
            /// The smallest and largest angle in degrees, clockwise.
            degrees: [f64; 2],
        }
        optional {
            /// The maximum translation, as fractions of the image's width and height.
            translate: Option<[f64; 2]> = None,
            /// The smallest and largest scale factor.
            scale: Option<[f64; 2]> = None,
            /// The smallest and largest shear along x, in degrees.
            shear_x: Option<[f64; 2]> = None,
            /// The same along y; it needs `shear_x`, whose angle is drawn first.
            shear_y: Option<[f64; 2]> = None,
            /// The interpolation.
            interpolation: InterpolationMode = InterpolationMode::Nearest,
            /// The fill outside the image: one number, or one for each channel.
            fill: Vec<f64> = vec![0.0],
            /// The fixed point, x and y in pixels from the upper left corner; by default the center.
            center: Option<[f64; 2]> = None,
        }
    }
}

/// Rotates, translates, scales and shears the image at random.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::{RandomAffineConfig, Transform};
/// use module_nn::prelude::*;
///
/// let affine = RandomAffineConfig::new([-10.0, 10.0]).translate([0.1, 0.1]).scale([0.9, 1.1]).build()?;
/// assert_eq!(affine.apply(&Tensor::ones([3, 4, 6], DType::U8)?)?.shape().to_string(), "[3, 4, 6]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RandomAffine {
    config: RandomAffineConfig,
}

impl Build for RandomAffineConfig {
    type Output = RandomAffine;

    /// The transform.
    ///
    /// # Errors
    ///
    /// Angles that decrease or are not finite, translations outside `[0, 1]`, factors that are not above 0, `shear_y`
    /// without `shear_x`.
    fn build(&self) -> Result<RandomAffine> {
        const OP: &str = "RandomAffine";
        check_range(OP, "degrees", self.degrees, ANY)?;
        for moved in self.translate.into_iter().flatten() {
            crate::config::check_between(OP, "translate", moved, [0.0, 1.0])?;
        }
        let ranges = [
            ("scale", self.scale, [f64::MIN_POSITIVE, f64::MAX]),
            ("shear_x", self.shear_x, ANY),
            ("shear_y", self.shear_y, ANY),
        ];
        for (name, range, bounds) in ranges {
            range.map_or(Ok(()), |range| check_range(OP, name, range, bounds))?;
        }
        if let (None, Some(shear)) = (self.shear_x, self.shear_y) {
            let problem = "needs `shear_x`, which may be [0, 0]";
            return Err(Error::argument(
                OP,
                "shear_y",
                format_args!("{shear:?}"),
                problem,
            ));
        }
        let config = self.clone();
        Ok(RandomAffine { config })
    }
}

impl Transform for RandomAffine {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        let config = &self.config;
        let [_, height, width] = image_sizes("RandomAffine", image)?;
        let angle = uniform(config.degrees)?;
        let translate = match config.translate {
            Some([x, y]) => {
                let moved = |most: f64| Ok(uniform([-most, most])?.round_ties_even());
                let x: Result<f64> = moved(x * width as f64);
                [x?, moved(y * height as f64)?]
            }
            None => [0.0; 2],
        };
        let or = |range: Option<[f64; 2]>, otherwise| range.map_or(Ok(otherwise), uniform);
        let scale = or(config.scale, 1.0)?;
        let shear_x = or(config.shear_x, 0.0)?;
        let shear = [shear_x, or(config.shear_y, 0.0)?];
        let options = AffineOptions::new()
            .angle(angle)
            .translate(translate)
            .scale(scale);
        let options = options.shear(shear).interpolation(config.interpolation);
        affine(
            image,
            &options.fill(config.fill.clone()).center(config.center),
        )
    }
}
