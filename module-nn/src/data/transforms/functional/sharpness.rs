use module_core::{ConvOptions, DType, Result, Tensor};

use super::check::{add_fused, check_factor, color_sizes, floats, pixels_like};

/// The image blended with a blurred one: 0 gives the blurred one, 1 the image, and more is sharper. Pixels at the edge, and
/// images of at most two rows or columns, are unchanged.
///
/// # Errors
///
/// A tensor that is not an image of 1 or 3 channels, a factor below 0.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::adjust_sharpness;
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[0_u8, 0, 0], [0, 130, 0], [0, 0, 0]]]);
/// assert_eq!(adjust_sharpness(&image, 0.0)?.to_vec::<u8>()?[4], 50);
/// # Ok::<(), Error>(())
/// ```
pub fn adjust_sharpness(image: &Tensor, factor: f64) -> Result<Tensor> {
    const OP: &str = "adjust_sharpness";
    let [channels, height, width] = color_sizes(OP, image)?;
    check_factor(OP, "factor", factor)?;
    if image.numel() == 0 || height <= 2 || width <= 2 {
        return Ok(image.clone());
    }
    let (rim, middle) = (1.0 / 13.0, 5.0 / 13.0);
    let kernel = [rim, rim, rim, rim, middle, rim, rim, rim, rim];
    let pixels =
        floats(image)?.reshape([-1, channels as isize, height as isize, width as isize])?;
    let kernel = Tensor::from(kernel)
        .to_dtype(pixels.dtype())?
        .to_device(&image.device())?;
    let kernel = kernel.reshape([1, 1, 3, 3])?.expand([channels, 1, 3, 3])?;
    let mut blurred = pixels.conv2d(&kernel, ConvOptions::new().groups(channels))?;
    if image.dtype() == DType::U8 {
        blurred = blurred.round()?;
    }
    let inner = pixels.narrow(-2, 1..height - 1)?.narrow(-1, 1..width - 1)?;
    let inner = add_fused(&inner, &blurred.sub(&inner)?, 1.0 - factor)?;
    let rows = pixels.narrow(-2, 1..height - 1)?;
    let inner = Tensor::cat(
        &[
            rows.narrow(-1, 0..1)?,
            inner,
            rows.narrow(-1, width - 1..width)?,
        ],
        -1,
    )?;
    let above = pixels.narrow(-2, 0..1)?;
    let below = pixels.narrow(-2, height - 1..height)?;
    let all = Tensor::cat(&[above, inner, below], -2)?;
    pixels_like(&all, image)?.reshape(image.shape())
}
