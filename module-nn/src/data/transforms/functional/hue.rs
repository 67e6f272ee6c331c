use module_core::{DType, Error, Result, Tensor};

use super::check::color_sizes;
use super::dtype::to_dtype_scaled;

/// The image with its hue rotated by `factor` of a full turn, from -0.5 to 0.5. An image of one channel is unchanged.
///
/// It is computed in `F32`, whatever the dtype of the image.
///
/// # Errors
///
/// A tensor that is not an image of 1 or 3 channels, a factor beyond half a turn.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::adjust_hue;
/// use module_nn::prelude::*;
///
/// let red = Tensor::from([[[255_u8]], [[0]], [[0]]]);
/// assert_eq!(adjust_hue(&red, 0.5)?.to_vec::<u8>()?, [0, 255, 255]);
/// # Ok::<(), Error>(())
/// ```
pub fn adjust_hue(image: &Tensor, factor: f64) -> Result<Tensor> {
    const OP: &str = "adjust_hue";
    let [channels, height, width] = color_sizes(OP, image)?;
    if !(-0.5..=0.5).contains(&factor) {
        let problem = "must lie between -0.5 and 0.5";
        return Err(Error::argument(OP, "factor", factor, problem));
    }
    if channels == 1 || image.numel() == 0 {
        return Ok(image.clone());
    }
    let mut pixels = to_dtype_scaled(image, DType::F32)?.to_vec::<f32>()?;
    let plane = height * width;
    for image in pixels.chunks_exact_mut(3 * plane) {
        let (red, rest) = image.split_at_mut(plane);
        let (green, blue) = rest.split_at_mut(plane);
        for ((r, g), b) in red.iter_mut().zip(green).zip(blue) {
            [*r, *g, *b] = turned([*r, *g, *b], factor as f32);
        }
    }
    let turned = Tensor::from_vec(pixels, image.shape())?.to_device(&image.device())?;
    to_dtype_scaled(&turned, image.dtype())
}

/// One pixel, with each operation rounded where torchvision's is.
fn turned(rgb: [f32; 3], factor: f32) -> [f32; 3] {
    let [h, s, v] = hsv(rgb);
    let h = (h + factor) % 1.0;
    let h = if h < 0.0 { h + 1.0 } else { h };
    let sixth = h * 6.0;
    let whole = sixth.floor();
    let part = sixth - whole;
    let (gray, share) = (1.0 - s, s * part);
    let clamped = |x: f32| (x * v).clamp(0.0, 1.0);
    let (p, q, t) = (clamped(gray), clamped(1.0 - share), clamped(share + gray));
    match (whole as i32).rem_euclid(6) {
        0 => [v, t, p],
        1 => [q, v, p],
        2 => [p, v, t],
        3 => [p, q, v],
        4 => [t, p, v],
        _ => [v, p, q],
    }
}

/// Hue, saturation and value of red, green and blue.
fn hsv([r, g, b]: [f32; 3]) -> [f32; 3] {
    let (high, low) = (r.max(g).max(b), r.min(g).min(b));
    let range = high - low;
    let (s, divisor) = match high == low {
        true => (range, 1.0),
        false => (range / high, range),
    };
    let away = |x: f32| (high - x) / divisor;
    let (red, green, blue) = (away(r), away(g), away(b));
    let h = if high == r {
        blue - green
    } else if high == g {
        red + 2.0 - blue
    } else {
        green + 4.0 - red
    };
    [(h * (1.0 / 6.0) + 1.0) % 1.0, s, high]
}
