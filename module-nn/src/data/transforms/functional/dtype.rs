use module_core::{DType, Error, Result, Tensor};

use super::check::image_sizes;

/// An image converted to another dtype, with its values scaled to that dtype's range, 0 to 255 or 0 to 1: torchvision's
/// `to_dtype(image, dtype, scale=True)`. Without scaling, use [`to_dtype`](Tensor::to_dtype) of the tensor.
///
/// From floating point to integers, each pixel is multiplied by 255.999 and truncated.
///
/// # Errors
///
/// A tensor that is not an image, a dtype other than `U8`, `F32` and `F64`.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::to_dtype_scaled;
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[0_u8, 255]]]);
/// let scaled = to_dtype_scaled(&image, DType::F32)?;
/// assert_eq!(scaled.to_vec::<f32>()?, [0.0, 1.0]);
/// assert_eq!(to_dtype_scaled(&scaled, DType::U8)?.to_vec::<u8>()?, [0, 255]);
/// # Ok::<(), Error>(())
/// ```
pub fn to_dtype_scaled(image: &Tensor, dtype: DType) -> Result<Tensor> {
    const OP: &str = "to_dtype_scaled";
    image_sizes(OP, image)?;
    match (image.dtype(), dtype) {
        (from, to) if from == to => Ok(image.clone()),
        (DType::U8, DType::F32 | DType::F64) => image.to_dtype(dtype)?.mul(1.0 / 255.0),
        (_, DType::U8) => image.mul(255.0 + 1.0 - 1e-3)?.to_dtype(DType::U8),
        (_, DType::F32 | DType::F64) => image.to_dtype(dtype),
        _ => {
            let problem = "must be uint8, float32 or float64";
            Err(Error::argument(OP, "dtype", dtype, problem))
        }
    }
}

/// `(x - mean) / std` in each channel; one number applies to all.
///
/// # Errors
///
/// A tensor that is not an image, an image of integers, numbers of means or deviations that differ from the channels, a
/// deviation of 0.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::normalize;
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[0.5_f32]], [[0.75]]]);
/// assert_eq!(normalize(&image, &[0.5, 0.25], &[0.5, 0.25])?.to_vec::<f32>()?, [0.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn normalize(image: &Tensor, mean: &[f64], std: &[f64]) -> Result<Tensor> {
    check_normalize(image, mean, std)?;
    normalize_by(image, &per_channel(mean)?, &per_channel(std)?)
}

/// Refuses what [`normalize`] refuses.
pub(in super::super) fn check_normalize(image: &Tensor, mean: &[f64], std: &[f64]) -> Result<()> {
    const OP: &str = "normalize";
    let [channels, ..] = image_sizes(OP, image)?;
    if image.dtype() == DType::U8 {
        let problem = "must be floating-point; use `to_dtype_scaled` first";
        return Err(Error::argument(OP, "image.dtype", image.dtype(), problem));
    }
    check_std(OP, std)?;
    for (name, values) in [("mean", mean), ("std", std)] {
        if values.len() != 1 && values.len() != channels {
            let problem = format!("must be one number or {channels}, one for each channel");
            let values = format_args!("{values:?}");
            return Err(Error::argument(OP, name, values, problem));
        }
    }
    Ok(())
}

/// Per-channel numbers in the dtype in which the image is computed.
pub(in super::super) fn per_channel(values: &[f64]) -> Result<Tensor> {
    Tensor::from(values).reshape([-1, 1, 1])
}

/// [`normalize`] with numbers that are already checked and converted to tensors.
pub(in super::super) fn normalize_by(
    image: &Tensor,
    mean: &Tensor,
    std: &Tensor,
) -> Result<Tensor> {
    let like_image = |x: &Tensor| x.to_dtype(image.dtype())?.to_device(&image.device());
    image.sub(&like_image(mean)?)?.div(&like_image(std)?)
}

/// Refuses deviations of 0.
pub(in super::super) fn check_std(op: &'static str, std: &[f64]) -> Result<()> {
    match std.iter().find(|std| **std == 0.0 || std.is_nan()) {
        None => Ok(()),
        Some(std) => Err(Error::argument(op, "std", std, "must not be 0")),
    }
}
