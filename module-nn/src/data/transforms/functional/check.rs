use module_core::{DType, Error, Result, Tensor};

/// Channels, height and width of an image.
pub(in super::super) fn image_sizes(op: &'static str, image: &Tensor) -> Result<[usize; 3]> {
    if !matches!(image.dtype(), DType::U8 | DType::F32 | DType::F64) {
        let problem = "must be uint8, float32 or float64; cast it first";
        return Err(Error::argument(op, "image.dtype", image.dtype(), problem));
    }
    match image.shape()[..] {
        [.., channels, height, width] => Ok([channels, height, width]),
        _ => Err(image.shape().error(op, "[…, channels, height, width]")),
    }
}

/// The same of an image of one channel or three.
pub(super) fn color_sizes(op: &'static str, image: &Tensor) -> Result<[usize; 3]> {
    let sizes = image_sizes(op, image)?;
    match sizes[0] {
        1 | 3 => Ok(sizes),
        _ => Err(image
            .shape()
            .error(op, "[…, 1 or 3 channels, height, width]")),
    }
}

/// Refuses a factor that is negative, infinite or not a number.
pub(in super::super) fn check_factor(
    op: &'static str,
    name: &'static str,
    factor: f64,
) -> Result<()> {
    match factor.is_finite() && factor >= 0.0 {
        true => Ok(()),
        false => Err(Error::argument(
            op,
            name,
            factor,
            "must be finite and at least 0",
        )),
    }
}

/// The largest value of a pixel.
pub(super) fn bound(image: &Tensor) -> f64 {
    if image.dtype() == DType::U8 {
        255.0
    } else {
        1.0
    }
}

/// The image in a dtype for computation.
pub(super) fn floats(image: &Tensor) -> Result<Tensor> {
    match image.dtype() {
        DType::U8 => image.to_dtype(DType::F32),
        _ => Ok(image.clone()),
    }
}

/// Pixels clamped to the range of the image's dtype, truncated to integers if it is an integer dtype.
pub(super) fn pixels_like(pixels: &Tensor, image: &Tensor) -> Result<Tensor> {
    pixels.clamp(0.0, bound(image))?.to_dtype(image.dtype())
}

/// `a + alpha b` rounded once, like PyTorch's `add` with `alpha` on processors with vector instructions: bytes are
/// truncated afterwards, so that an additional rounding would show.
pub(super) fn add_fused(a: &Tensor, b: &Tensor, alpha: f64) -> Result<Tensor> {
    if a.dtype() != DType::F32 {
        return a.add_scaled(b, alpha);
    }
    let wide = |x: &Tensor| x.to_dtype(DType::F64);
    // The product of two numbers of 24 bits is exact.
    let product = wide(b)?.mul(f64::from(alpha as f32))?;
    wide(a)?.add(&product)?.to_dtype(DType::F32)
}
