use module_core::{Error, Result, Tensor};

use super::functional::{erase, image_sizes};
use super::resized_crop::{log_ratio, rectangle};
use super::{Transform, below, check_range, uniform};
use crate::config::{Build, check_between, config};

const OP: &str = "RandomErasing";

config! {
    /// The arguments of [`RandomErasing`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::data::transforms::{RandomErasing, RandomErasingConfig, Transform};
    /// use module_nn::prelude::*;
    ///
    /// // A square of a quarter of the image, always.
    /// let config = RandomErasingConfig::new().p(1.0).scale([0.25, 0.25]).ratio([1.0, 1.0]).value([9.0]);
    /// let erasing: RandomErasing = config.build()?;
    /// let image = erasing.apply(&Tensor::zeros([1, 8, 8], DType::U8)?)?;
    /// assert_eq!(image.to_vec::<u8>()?.iter().filter(|&&pixel| pixel == 9).count(), 16);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct RandomErasingConfig => RandomErasing {
        optional {
            /// The probability that something is erased.
            p: f64 = 0.5,
            /// The smallest and largest area of the rectangle, as a fraction of the image's.
            scale: [f64; 2] = [0.02, 0.33],
            /// The smallest and largest ratio of the rectangle's height to its width.
            ratio: [f64; 2] = [0.3, 3.3],
            /// The fill value: one number, or one for each channel.
            value: Vec<f64> = vec![0.0],
        }
    }
}

/// Erases a random rectangle of the image with some probability.
///
/// Source: Zhong et al., *Random Erasing Data Augmentation* (2017).
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::{RandomErasingConfig, Transform};
/// use module_nn::prelude::*;
///
/// let erasing = RandomErasingConfig::new().p(1.0).value(vec![9.0]).build()?;
/// let image = erasing.apply(&Tensor::zeros([1, 9, 9], DType::U8)?)?;
/// assert!(image.to_vec::<u8>()?.contains(&9));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RandomErasing {
    config: RandomErasingConfig,
    log_ratio: [f64; 2],
}

impl Build for RandomErasingConfig {
    type Output = RandomErasing;

    /// The transform.
    ///
    /// # Errors
    ///
    /// A probability or scale outside `[0, 1]`, a decreasing scale or ratio, no value.
    fn build(&self) -> Result<RandomErasing> {
        check_between(OP, "p", self.p, [0.0, 1.0])?;
        check_range(OP, "scale", self.scale, [0.0, 1.0])?;
        if self.value.is_empty() {
            let problem = "must be one number, or one for each channel";
            return Err(Error::argument(OP, "value", "[]", problem));
        }
        Ok(RandomErasing {
            log_ratio: log_ratio(OP, self.ratio)?,
            config: self.clone(),
        })
    }
}

impl Transform for RandomErasing {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        let config = &self.config;
        let [channels, height, width] = image_sizes(OP, image)?;
        let value = &config.value;
        if value.len() != 1 && value.len() != channels {
            let problem = format!("must be one number or {channels}, one for each channel");
            return Err(Error::argument(
                OP,
                "value",
                format_args!("{value:?}"),
                problem,
            ));
        }
        if uniform([0.0, 1.0])? >= config.p {
            return Ok(image.clone());
        }
        for _ in 0..10 {
            // Here the ratio is that of the height to the width.
            let [w, h] = rectangle(height * width, config.scale, self.log_ratio)?;
            let (h, w) = (h as usize, w as usize);
            if h < height && w < width {
                let start = [below(height - h + 1)?, below(width - w + 1)?];
                let value = Tensor::from(value.as_slice()).reshape([-1, 1, 1])?;
                return erase(image, start, [h, w], &value.to_device(&image.device())?);
            }
        }
        Ok(image.clone())
    }
}
