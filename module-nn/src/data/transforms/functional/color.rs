use module_core::{DType, Error, Result, Tensor};

use super::check::{add_fused, bound, check_factor, color_sizes, floats, image_sizes, pixels_like};

/// The image times a factor: 0 gives black, 1 the image.
///
/// # Errors
///
/// A tensor that is not an image of 1 or 3 channels, a factor below 0.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::adjust_brightness;
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[10_u8, 200]]]);
/// assert_eq!(adjust_brightness(&image, 1.5)?.to_vec::<u8>()?, [15, 255]);
/// # Ok::<(), Error>(())
/// ```
pub fn adjust_brightness(image: &Tensor, factor: f64) -> Result<Tensor> {
    const OP: &str = "adjust_brightness";
    color_sizes(OP, image)?;
    check_factor(OP, "factor", factor)?;
    pixels_like(&floats(image)?.mul(factor)?, image)
}

/// The image blended with the mean of its gray version: 0 gives that gray, 1 the image.
///
/// # Errors
///
/// A tensor that is not an image of 1 or 3 channels, a factor below 0.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::adjust_contrast;
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[10_u8, 20]]]);
/// assert_eq!(adjust_contrast(&image, 0.0)?.to_vec::<u8>()?, [15, 15]);
/// # Ok::<(), Error>(())
/// ```
pub fn adjust_contrast(image: &Tensor, factor: f64) -> Result<Tensor> {
    const OP: &str = "adjust_contrast";
    let [channels, ..] = color_sizes(OP, image)?;
    check_factor(OP, "factor", factor)?;
    let gray = match channels {
        3 => whole(gray(image)?, image)?,
        _ => floats(image)?,
    };
    blend(image, &gray.mean_keepdim([-3, -2, -1])?, factor)
}

/// The image blended with its gray version: 0 gives gray, 1 the image. An image of one channel is unchanged.
///
/// # Errors
///
/// A tensor that is not an image of 1 or 3 channels, a factor below 0.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::adjust_saturation;
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[100_u8]], [[0]], [[0]]]);
/// assert_eq!(adjust_saturation(&image, 0.0)?.to_vec::<u8>()?, [29, 29, 29]);
/// # Ok::<(), Error>(())
/// ```
pub fn adjust_saturation(image: &Tensor, factor: f64) -> Result<Tensor> {
    const OP: &str = "adjust_saturation";
    let [channels, ..] = color_sizes(OP, image)?;
    check_factor(OP, "factor", factor)?;
    match channels {
        3 => blend(image, &whole(gray(image)?, image)?, factor),
        _ => Ok(image.clone()),
    }
}

/// The gray version of an image of three channels, `0.2989 r + 0.587 g + 0.114 b`, in each of its channels; an image of one
/// channel is unchanged.
///
/// # Errors
///
/// A tensor that is not an image of 1 or 3 channels.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::rgb_to_grayscale;
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[100_u8]], [[0]], [[0]]]);
/// assert_eq!(rgb_to_grayscale(&image)?.to_vec::<u8>()?, [29, 29, 29]);
/// # Ok::<(), Error>(())
/// ```
pub fn rgb_to_grayscale(image: &Tensor) -> Result<Tensor> {
    match color_sizes("rgb_to_grayscale", image)?[0] {
        3 => gray(image)?.to_dtype(image.dtype())?.expand(image.shape()),
        _ => Ok(image.clone()),
    }
}

/// The gray of three channels.
fn gray(image: &Tensor) -> Result<Tensor> {
    let [r, g, b] = floats(image)?.split_array([1, 1, 1], -3)?;
    add_fused(&add_fused(&r.mul(0.2989)?, &g, 0.587)?, &b, 0.114)
}

/// Gray as integers, for an integer image.
fn whole(gray: Tensor, image: &Tensor) -> Result<Tensor> {
    match image.dtype() {
        DType::U8 => gray.floor(),
        _ => Ok(gray),
    }
}

fn blend(image: &Tensor, other: &Tensor, factor: f64) -> Result<Tensor> {
    let other = other.expand(image.shape())?;
    let blended = add_fused(&floats(image)?.mul(factor)?, &other, 1.0 - factor)?;
    pixels_like(&blended, image)
}

/// The largest value minus each pixel.
///
/// # Errors
///
/// A tensor that is not an image.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::invert;
/// use module_nn::prelude::*;
///
/// assert_eq!(invert(&Tensor::from([[[0_u8, 55]]]))?.to_vec::<u8>()?, [255, 200]);
/// # Ok::<(), Error>(())
/// ```
pub fn invert(image: &Tensor) -> Result<Tensor> {
    image_sizes("invert", image)?;
    match image.dtype() {
        DType::U8 => image.full_like(255)?.sub(image),
        _ => image.neg()?.add(1.0),
    }
}

/// Inverts the pixels that are at least the threshold.
///
/// # Errors
///
/// A tensor that is not an image, a threshold above the largest value.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::solarize;
/// use module_nn::prelude::*;
///
/// assert_eq!(solarize(&Tensor::from([[[99_u8, 100]]]), 100.0)?.to_vec::<u8>()?, [99, 155]);
/// # Ok::<(), Error>(())
/// ```
pub fn solarize(image: &Tensor, threshold: f64) -> Result<Tensor> {
    const OP: &str = "solarize";
    image_sizes(OP, image)?;
    if threshold > bound(image) || threshold.is_nan() {
        let problem = format!("must be at most {}, the largest value", bound(image));
        return Err(Error::argument(OP, "threshold", threshold, problem));
    }
    floats(image)?.ge(threshold)?.where_(&invert(image)?, image)
}

/// The first `bits` bits of each pixel, up to 8; for floating-point images, the largest of `2^bits` levels that does not
/// exceed it.
///
/// # Errors
///
/// A tensor that is not an image, more than 8 bits.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::posterize;
/// use module_nn::prelude::*;
///
/// assert_eq!(posterize(&Tensor::from([[[200_u8, 100]]]), 1)?.to_vec::<u8>()?, [128, 0]);
/// # Ok::<(), Error>(())
/// ```
pub fn posterize(image: &Tensor, bits: u32) -> Result<Tensor> {
    const OP: &str = "posterize";
    image_sizes(OP, image)?;
    if bits > 8 {
        return Err(Error::argument(OP, "bits", bits, "must be at most 8"));
    }
    let levels = f64::from(1 << bits);
    match (image.dtype(), bits) {
        (DType::U8, 8) => Ok(image.clone()),
        (DType::U8, _) => {
            let step = f64::from(256 >> bits);
            let cut = floats(image)?.mul(1.0 / step)?.floor()?.mul(step)?;
            cut.to_dtype(DType::U8)
        }
        _ => {
            let level = image.mul(levels)?.floor()?.clamp(0.0, levels - 1.0)?;
            level.mul(1.0 / levels)
        }
    }
}

/// Each channel stretched to the full range of values; a constant channel is unchanged.
///
/// # Errors
///
/// A tensor that is not an image of 1 or 3 channels.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::autocontrast;
/// use module_nn::prelude::*;
///
/// assert_eq!(autocontrast(&Tensor::from([[[100_u8, 150, 200]]]))?.to_vec::<u8>()?, [0, 127, 254]);
/// # Ok::<(), Error>(())
/// ```
pub fn autocontrast(image: &Tensor) -> Result<Tensor> {
    color_sizes("autocontrast", image)?;
    if image.numel() == 0 {
        return Ok(image.clone());
    }
    let pixels = floats(image)?;
    let (low, high) = (
        pixels.amin_keepdim([-2, -1])?,
        pixels.amax_keepdim([-2, -1])?,
    );
    let flat = high.eq(&low)?;
    let scale = high
        .sub(&low)?
        .mul(1.0 / bound(image))?
        .masked_fill(&flat, 1.0)?;
    let low = low.masked_fill(&flat, 0.0)?;
    pixels_like(&pixels.sub(&low)?.div(&scale)?, image)
}
