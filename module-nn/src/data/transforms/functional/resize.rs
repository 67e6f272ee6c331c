use module_core::{DType, Error, InterpolateMode, InterpolateOptions, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::check::image_sizes;
use super::geometry::crop;
use super::resize_bytes::{Filter, resize_bytes};
use crate::config::check_bytes_fit;

/// The interpolation of [`resize`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResizeMode {
    /// The pixel that contains the start of the new one.
    Nearest,
    /// The pixel that contains the center of the new one.
    NearestExact,
    /// Linear interpolation; when downscaling, a weighted mean of the pixels covered (antialiasing).
    #[default]
    Bilinear,
    /// Cubic interpolation, with antialiasing.
    Bicubic,
}

/// The image resized to a height and width.
///
/// Bytes are interpolated in integer arithmetic, as in PyTorch on processors with vector instructions.
///
/// # Errors
///
/// A tensor that is not an image, a size of 0, an image without pixels.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::{ResizeMode, resize};
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[0_u8, 100], [0, 100]]]);
/// assert_eq!(resize(&image, [1, 1], ResizeMode::Bilinear)?.to_vec::<u8>()?, [50]);
/// # Ok::<(), Error>(())
/// ```
pub fn resize(image: &Tensor, size: [usize; 2], mode: ResizeMode) -> Result<Tensor> {
    const OP: &str = "resize";
    let [channels, height, width] = image_sizes(OP, image)?;
    check_size(OP, size)?;
    if size == [height, width] {
        return Ok(image.clone());
    }
    if image.numel() == 0 {
        return Err(image.shape().error(OP, "an image with pixels"));
    }
    let mut shape = image.shape().to_vec();
    if let [.., y, x] = &mut shape[..] {
        [*y, *x] = size;
    }
    let filter = match mode {
        ResizeMode::Bilinear => Some(Filter::Linear),
        ResizeMode::Bicubic => Some(Filter::Cubic),
        _ => None,
    };
    if let (DType::U8, Some(filter)) = (image.dtype(), filter) {
        check_bytes_to_resize(OP, image, size)?;
        let pixels = resize_bytes(image.to_vec::<u8>()?, [height, width], size, filter);
        return Tensor::from_vec(pixels, shape)?.to_device(&image.device());
    }
    let options = InterpolateOptions::size(size).mode(match mode {
        ResizeMode::Nearest => InterpolateMode::Nearest,
        ResizeMode::NearestExact => InterpolateMode::NearestExact,
        ResizeMode::Bilinear => InterpolateMode::Bilinear,
        ResizeMode::Bicubic => InterpolateMode::Bicubic,
    });
    let options = options.antialias(filter.is_some());
    let planes = image.reshape([-1, channels as isize, height as isize, width as isize])?;
    let resized = match image.dtype() {
        // The nearest pixels are the same in any dtype.
        DType::U8 => planes
            .to_dtype(DType::F32)?
            .interpolate(&options)?
            .to_dtype(DType::U8)?,
        _ => planes.interpolate(&options)?,
    };
    resized.reshape(shape)
}

/// Refuses a size that does not fit in memory: the bytes of both steps, and the weights of the rows and columns.
fn check_bytes_to_resize(op: &'static str, image: &Tensor, size: [usize; 2]) -> Result<()> {
    let [.., height, width] = image.shape()[..] else {
        return Ok(());
    };
    let [to_height, to_width] = size;
    let planes = image.numel() / (height * width);
    // A pixel depends on a few others, or on many when downscaling.
    let weights = |from: usize, to: usize| to.checked_mul(128)?.checked_add(from.checked_mul(64)?);
    let bytes = || {
        let rows = height.checked_add(to_height)?;
        let pixels = planes.checked_mul(rows)?.checked_mul(to_width)?;
        let weights = weights(height, to_height)?.checked_add(weights(width, to_width)?)?;
        pixels.checked_add(weights)
    };
    check_bytes_fit(op, "size", format_args!("{size:?}"), bytes())
}

pub(in super::super) fn check_size(op: &'static str, size: [usize; 2]) -> Result<()> {
    match size.contains(&0) {
        false => Ok(()),
        true => {
            let problem = "both must be at least 1";
            Err(Error::argument(
                op,
                "size",
                format_args!("{size:?}"),
                problem,
            ))
        }
    }
}

/// A part of the image, `of` rows and columns from `start` on, resized: [`crop`] and then [`resize`].
///
/// # Errors
///
/// Those of both.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::{ResizeMode, resized_crop};
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[7_u8, 0, 100], [7, 0, 100]]]);
/// let part = resized_crop(&image, [0, 1], [2, 2], [1, 1], ResizeMode::Bilinear)?;
/// assert_eq!(part.to_vec::<u8>()?, [50]);
/// # Ok::<(), Error>(())
/// ```
pub fn resized_crop(
    image: &Tensor,
    start: [isize; 2],
    of: [usize; 2],
    size: [usize; 2],
    mode: ResizeMode,
) -> Result<Tensor> {
    resize(&crop(image, start, of)?, size, mode)
}
