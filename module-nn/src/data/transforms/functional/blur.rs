use std::f64::consts::SQRT_2;

use module_core::{ConvOptions, DType, Error, Result, Tensor};

use super::check::{floats, image_sizes};
use super::pad::{PaddingMode, pad};

/// The image with every pixel replaced by a weighted mean of its neighborhood; the weights follow a Gaussian with standard
/// deviation `sigma`. `kernel_size`, the width and height of the neighborhood in pixels, and `sigma` have the horizontal
/// number first. The image is reflected at its edges.
///
/// ```text
/// w(d) ∝ exp(-d²/(2·sigma²))
/// ```
///
/// # Errors
///
/// A tensor that is not an image, kernel sizes that are even or more than twice the image's, a `sigma` that is not above 0.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::gaussian_blur;
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[0_u8, 0, 240, 0, 0]]]);
/// assert_eq!(gaussian_blur(&image, [3, 1], [1e9, 1.0])?.to_vec::<u8>()?, [0, 80, 80, 80, 0]);
/// # Ok::<(), Error>(())
/// ```
pub fn gaussian_blur(image: &Tensor, kernel_size: [usize; 2], sigma: [f64; 2]) -> Result<Tensor> {
    const OP: &str = "gaussian_blur";
    let [channels, height, width] = image_sizes(OP, image)?;
    check_kernel_size(OP, kernel_size)?;
    check_sigma(OP, sigma)?;
    if image.numel() == 0 {
        return Ok(image.clone());
    }
    let [across, down] = kernel_size.map(|size| size / 2);
    let padded = pad(
        &floats(image)?,
        [across, down, across, down],
        &[],
        PaddingMode::Reflect,
    )?;
    let (rows, columns) = (height + 2 * down, width + 2 * across);
    let pixels = padded.reshape([-1, channels as isize, rows as isize, columns as isize])?;
    let weights = |i: usize| weights(kernel_size[i], sigma[i], &pixels);
    let kernel = weights(1)?.unsqueeze(-1)?.mul(&weights(0)?)?;
    let kernel = kernel.expand([channels, 1, kernel_size[1], kernel_size[0]])?;
    let mut blurred = pixels.conv2d(&kernel, ConvOptions::new().groups(channels))?;
    if image.dtype() == DType::U8 {
        blurred = blurred.round()?;
    }
    blurred.to_dtype(image.dtype())?.reshape(image.shape())
}

/// The weights along one dimension, whose sum is 1.
fn weights(size: usize, sigma: f64, like: &Tensor) -> Result<Tensor> {
    let end = (size - 1) as f64 / (2.0 * SQRT_2);
    let places = Tensor::linspace(-end, end, size, (like.dtype(), &like.device()))?;
    places.div(sigma)?.square()?.neg()?.softmax(0)
}

/// Refuses kernels without a center.
pub(in super::super) fn check_kernel_size(op: &'static str, sizes: [usize; 2]) -> Result<()> {
    match sizes.iter().all(|size| size % 2 == 1) {
        true => Ok(()),
        false => {
            let sizes = format_args!("{sizes:?}");
            Err(Error::argument(op, "kernel_size", sizes, "must be odd"))
        }
    }
}

fn check_sigma(op: &'static str, sigma: [f64; 2]) -> Result<()> {
    match sigma.iter().all(|&sigma| sigma.is_finite() && sigma > 0.0) {
        true => Ok(()),
        false => {
            let problem = "must be finite and above 0";
            Err(Error::argument(
                op,
                "sigma",
                format_args!("{sigma:?}"),
                problem,
            ))
        }
    }
}
