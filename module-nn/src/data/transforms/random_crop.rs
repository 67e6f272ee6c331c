use module_core::{Error, Result, Tensor};

use super::functional::{PaddingMode, check_size, crop, image_sizes, pad};
use super::{Transform, below};
use crate::config::{Build, config};

const OP: &str = "RandomCrop";

config! {
    /// The arguments of [`RandomCrop`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::data::transforms::functional::PaddingMode;
    /// use module_nn::data::transforms::{RandomCrop, RandomCropConfig, Transform};
    /// use module_nn::prelude::*;
    ///
    /// // An image smaller than the crop is padded on both sides.
    /// let crop: RandomCrop = RandomCropConfig::new([1, 4]).pad_if_needed(true).fill([9.0]).build()?;
    /// let part = crop.apply(&Tensor::from([[[1_u8, 2]]]))?.to_vec::<u8>()?;
    /// assert!(part.ends_with(&[9]) || part.starts_with(&[9]));
    /// let mirrored = RandomCropConfig::new([1, 4]).padding([1, 0, 1, 0]).padding_mode(PaddingMode::Reflect);
    /// let whole = mirrored.build()?.apply(&Tensor::from([[[1_u8, 2]]]))?;
    /// assert_eq!(whole.to_vec::<u8>()?, [2, 1, 2, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct RandomCropConfig => RandomCrop {
        required {
            /// The height and width of the crop.
            size: [usize; 2],
        }
        optional {
            /// The padding added first: left, top, right and bottom.
            padding: [usize; 4] = [0; 4],
            /// Whether to pad an image that is smaller than the crop on both sides.
            pad_if_needed: bool = false,
            /// The fill of the padding: nothing for 0, one number, or one for each channel.
            fill: Vec<f64> = Vec::new(),
            /// The padding mode.
            padding_mode: PaddingMode = PaddingMode::Constant,
        }
    }
}

/// A random crop of the image.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::{RandomCropConfig, Transform};
/// use module_nn::prelude::*;
///
/// let crop = RandomCropConfig::new([2, 2]).padding([1; 4]).build()?;
/// let part = crop.apply(&Tensor::ones([3, 2, 2], DType::U8)?)?;
/// assert_eq!(part.shape().to_string(), "[3, 2, 2]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RandomCrop {
    config: RandomCropConfig,
}

impl Build for RandomCropConfig {
    type Output = RandomCrop;

    /// The transform.
    ///
    /// # Errors
    ///
    /// A size of 0.
    fn build(&self) -> Result<RandomCrop> {
        check_size(OP, self.size)?;
        let config = self.clone();
        Ok(RandomCrop { config })
    }
}

impl Transform for RandomCrop {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        let config = &self.config;
        let [_, mut height, mut width] = image_sizes(OP, image)?;
        let [mut left, mut top, mut right, mut bottom] = config.padding;
        (height, width) = (height + top + bottom, width + left + right);
        let size = config.size;
        if config.pad_if_needed {
            let (more_y, more_x) = (
                size[0].saturating_sub(height),
                size[1].saturating_sub(width),
            );
            (top, bottom, height) = (top + more_y, bottom + more_y, height + 2 * more_y);
            (left, right, width) = (left + more_x, right + more_x, width + 2 * more_x);
        }
        if height < size[0] || width < size[1] {
            let problem = format!(
                "is more than the padded image, [{height}, {width}]; set `pad_if_needed`, or resize it first"
            );
            return Err(Error::argument(
                OP,
                "size",
                format_args!("{size:?}"),
                problem,
            ));
        }
        let place = |of: usize, size: usize| match of > size {
            true => below(of - size + 1),
            false => Ok(0),
        };
        let (y, x) = (place(height, size[0])?, place(width, size[1])?);
        let padding = [left, top, right, bottom];
        let padded = match padding == [0; 4] {
            true => image.clone(),
            false => pad(image, padding, &config.fill, config.padding_mode)?,
        };
        crop(&padded, [y as isize, x as isize], size)
    }
}
