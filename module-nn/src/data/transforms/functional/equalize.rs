use module_core::{DType, Result, Tensor};

use super::check::image_sizes;
use super::dtype::to_dtype_scaled;

/// Each channel with its histogram equalized: Pillow's `ImageOps.equalize`. Floating-point images are quantized to 256
/// levels.
///
/// # Errors
///
/// A tensor that is not an image.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::equalize;
/// use module_nn::prelude::*;
///
/// let image = Tensor::arange(0, 512, DType::I64)?.remainder(2)?.add(7)?.to_dtype(DType::U8)?;
/// let levels = equalize(&image.reshape([1, 16, 32])?)?.to_vec::<u8>()?;
/// assert_eq!(levels[..2], [0, 255]);
/// # Ok::<(), Error>(())
/// ```
pub fn equalize(image: &Tensor) -> Result<Tensor> {
    let [_, height, width] = image_sizes("equalize", image)?;
    let plane = height * width;
    if image.numel() == 0 {
        return Ok(image.clone());
    }
    let mut pixels = to_dtype_scaled(image, DType::U8)?.to_vec::<u8>()?;
    pixels.chunks_exact_mut(plane).for_each(equalize_plane);
    let equalized = Tensor::from_vec(pixels, image.shape())?.to_device(&image.device())?;
    to_dtype_scaled(&equalized, image.dtype())
}

fn equalize_plane(plane: &mut [u8]) {
    let mut counts = [0_usize; 256];
    for &pixel in plane.iter() {
        if let Some(count) = counts.get_mut(usize::from(pixel)) {
            *count += 1;
        }
    }
    // All but those of the largest value, in 255 steps.
    let largest = counts
        .iter()
        .rev()
        .find(|count| **count > 0)
        .copied()
        .unwrap_or(0);
    let step = (plane.len() - largest) / 255;
    if step == 0 {
        return;
    }
    let mut below = 0;
    let table = counts.map(|count| {
        let level = (below + step / 2) / step;
        below += count;
        level.min(255) as u8
    });
    for pixel in plane {
        *pixel = table.get(usize::from(*pixel)).copied().unwrap_or(*pixel);
    }
}
