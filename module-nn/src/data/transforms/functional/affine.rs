use module_core::{DType, Error, Result, Tensor, TensorOptions, options};

use super::check::{floats, image_sizes};
use super::sample_places::{InterpolationMode, sample_places};

options! {
    /// The options of [`affine`], with torchvision's names.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::data::transforms::functional::{AffineOptions, InterpolationMode, affine};
    /// use module_nn::prelude::*;
    ///
    /// // Twice as large around the upper left corner.
    /// let image = Tensor::from([[[1_u8, 2], [3, 4]]]);
    /// let options = AffineOptions::new().scale(2.0).center([0.0, 0.0]);
    /// assert_eq!(affine(&image, &options)?.to_vec::<u8>()?, [1; 4]);
    /// // A shear of 45 degrees moves a row by its distance from the center.
    /// let image = Tensor::from([[[1_u8, 2, 3], [4, 5, 6], [7, 8, 9]]]);
    /// let sheared = affine(&image, &AffineOptions::new().shear([45.0, 0.0]))?;
    /// assert_eq!(sheared.to_vec::<u8>()?[3..6], [4, 5, 6]);
    /// // A turn by 45 degrees, interpolated, around the pixel in the center, which stays.
    /// let options = AffineOptions::new().angle(45.0).interpolation(InterpolationMode::Bilinear);
    /// assert_eq!(affine(&image, &options)?.to_vec::<u8>()?[4], 5);
    /// # Ok::<(), Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct AffineOptions {
        optional {
            /// The rotation in degrees, clockwise.
            angle: f64 = 0.0,
            /// The translation in pixels, to the right and down.
            translate: [f64; 2] = [0.0; 2],
            /// The scale factor.
            scale: f64 = 1.0,
            /// The shear in degrees, along x and y.
            shear: [f64; 2] = [0.0; 2],
            /// The interpolation.
            interpolation: InterpolationMode = InterpolationMode::Nearest,
            /// The fill outside the image: nothing for 0, one number, or one for each channel.
            fill: Vec<f64> = Vec::new(),
            /// The fixed point, x and y in pixels from the upper left corner; by default the center.
            center: Option<[f64; 2]> = None,
        }
    }
}

options! {
    /// The options of [`rotate`], with torchvision's names.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::data::transforms::functional::{InterpolationMode, RotateOptions, rotate};
    /// use module_nn::prelude::*;
    ///
    /// let image = Tensor::from([[[1_u8, 2, 3]]]);
    /// let whole = rotate(&image, 90.0, &RotateOptions::new().expand(true))?;
    /// assert_eq!(whole.to_vec::<u8>()?, [3, 2, 1]);
    /// // Half a turn around the middle of the first pixel.
    /// let options = RotateOptions::new()
    ///     .center([0.5, 0.5])
    ///     .interpolation(InterpolationMode::Bilinear)
    ///     .fill(vec![9.0]);
    /// assert_eq!(rotate(&image, 180.0, &options)?.to_vec::<u8>()?, [1, 9, 9]);
    /// # Ok::<(), Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct RotateOptions {
        optional {
            /// The interpolation.
            interpolation: InterpolationMode = InterpolationMode::Nearest,
            /// Whether the result is large enough for the whole rotated image.
            expand: bool = false,
            /// The fixed point, x and y in pixels from the upper left corner; by default the center.
            center: Option<[f64; 2]> = None,
            /// The fill outside the image: nothing for 0, one number, or one for each channel.
            fill: Vec<f64> = Vec::new(),
        }
    }
}

/// The image rotated, scaled, sheared and translated, at its own size, applied in this order as seen from the result.
///
/// # Errors
///
/// A tensor that is not an image, a scale that is not above 0, a wrong number of fill values.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::{AffineOptions, affine};
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[1_u8, 2, 3]]]);
/// let moved = affine(&image, &AffineOptions::new().translate([1.0, 0.0]).fill(vec![9.0]))?;
/// assert_eq!(moved.to_vec::<u8>()?, [9, 1, 2]);
/// # Ok::<(), Error>(())
/// ```
pub fn affine(image: &Tensor, options: &AffineOptions) -> Result<Tensor> {
    const OP: &str = "affine";
    let [channels, height, width] = image_sizes(OP, image)?;
    let scale = options.scale;
    if !(scale.is_finite() && scale > 0.0) {
        return Err(Error::argument(
            OP,
            "scale",
            scale,
            "must be finite and above 0",
        ));
    }
    check_fill(OP, &options.fill, channels)?;
    let center = from_center(options.center, width, height);
    let matrix = inverse_matrix(
        center,
        options.angle,
        options.translate,
        scale,
        options.shear,
    );
    sample(
        image,
        matrix,
        [height, width],
        options.interpolation,
        &options.fill,
    )
}

/// The image rotated counterclockwise by an angle in degrees. Quarter turns around the center copy pixels.
///
/// # Errors
///
/// A tensor that is not an image, an angle that is not finite, a wrong number of fill values.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::{RotateOptions, rotate};
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[1_u8, 2], [3, 4]]]);
/// assert_eq!(rotate(&image, 90.0, &RotateOptions::new())?.to_vec::<u8>()?, [2, 4, 1, 3]);
/// # Ok::<(), Error>(())
/// ```
pub fn rotate(image: &Tensor, angle: f64, options: &RotateOptions) -> Result<Tensor> {
    const OP: &str = "rotate";
    let [channels, height, width] = image_sizes(OP, image)?;
    if !angle.is_finite() {
        return Err(Error::argument(OP, "angle", angle, "must be finite"));
    }
    check_fill(OP, &options.fill, channels)?;
    let angle = angle.rem_euclid(360.0);
    if options.center.is_none() {
        let fits = options.expand || height == width;
        match angle {
            0.0 => return Ok(image.clone()),
            180.0 => return image.flip([-2, -1]),
            90.0 if fits => return image.transpose(-2, -1)?.flip(-2),
            270.0 if fits => return image.transpose(-2, -1)?.flip(-1),
            _ => {}
        }
    }
    let center = from_center(options.center, width, height);
    let matrix = inverse_matrix(center, -angle, [0.0; 2], 1.0, [0.0; 2]);
    let size = match options.expand {
        true => expanded(matrix, width, height),
        false => [height, width],
    };
    sample(image, matrix, size, options.interpolation, &options.fill)
}

fn check_fill(op: &'static str, fill: &[f64], channels: usize) -> Result<()> {
    match fill.len() {
        0 | 1 => Ok(()),
        count if count == channels => Ok(()),
        _ => {
            let problem = format!("must be one number or {channels}, one for each channel");
            Err(Error::argument(
                op,
                "fill",
                format_args!("{fill:?}"),
                problem,
            ))
        }
    }
}

/// A point relative to the center of the image.
fn from_center(center: Option<[f64; 2]>, width: usize, height: usize) -> [f64; 2] {
    center.map_or([0.0; 2], |[x, y]| {
        [x - width as f64 * 0.5, y - height as f64 * 0.5]
    })
}

/// The map from a pixel of the result to one of the image, both relative to the center: two rows of three numbers.
fn inverse_matrix(
    [cx, cy]: [f64; 2],
    angle: f64,
    [tx, ty]: [f64; 2],
    scale: f64,
    [shear_x, shear_y]: [f64; 2],
) -> [f64; 6] {
    let radians = |degrees: f64| degrees * (std::f64::consts::PI / 180.0);
    let (turn, sx, sy) = (radians(angle), radians(shear_x), radians(shear_y));
    let a = (turn - sy).cos() / sy.cos();
    let b = -(a * sx.tan() + turn.sin());
    let c = (turn - sy).sin() / sy.cos();
    let d = turn.cos() - c * sx.tan();
    let [a, b, c, d] = [d / scale, -b / scale, -c / scale, a / scale];
    let (x, y) = (cx + tx, cy + ty);
    [a, b, cx - a * x - b * y, c, d, cy - c * x - d * y]
}

/// The size of the rotated image, in `f32` as torchvision computes it.
fn expanded(matrix: [f64; 6], width: usize, height: usize) -> [usize; 2] {
    let (w, h) = (0.5 * width as f32, 0.5 * height as f32);
    let [a, b, c, d, e, f] = matrix.map(|x| x as f32);
    let corners = [(-w, -h), (-w, h), (w, h), (w, -h)];
    let size = |x: f32, y: f32, one: f32, half: f32| {
        let places = corners.map(|(px, py)| one + py * y + px * x);
        let (low, high) = places
            .iter()
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), p| {
                (low.min(*p), high.max(*p))
            });
        let cut = |place: f32| ((place + half) * 1e4).trunc() * 1e-4;
        (cut(high).ceil() - cut(low).floor()) as usize
    };
    [size(d, e, f, h), size(a, b, c, w)]
}

/// The image positions from which the pixels of a result of this size are computed.
fn grid(
    matrix: [f64; 6],
    [height, width]: [usize; 2],
    to: [usize; 2],
    dtype: DType,
) -> Result<Tensor> {
    let line = |count: usize| {
        let half = (count as f64 - 1.0) * 0.5;
        Tensor::linspace(-half, half, count, TensorOptions::from(DType::F32))?.to_dtype(dtype)
    };
    let (x, y) = (line(to[1])?.unsqueeze(0)?, line(to[0])?.unsqueeze(1)?);
    let half = Tensor::from([0.5 * width as f64, 0.5 * height as f64]).to_dtype(dtype)?;
    let theta = Tensor::from(matrix).to_dtype(dtype)?.reshape([2, 3])?;
    let theta = theta
        .div(&half.unsqueeze(1)?)?
        .to_dtype(DType::F64)?
        .to_vec::<f64>()?;
    // Products are rounded before they are added, in this order.
    let row = |row: &[f64]| match row {
        [a, b, c] => x.mul(*a)?.add(&y.mul(*b)?)?.add(*c),
        _ => Ok(x.clone()),
    };
    let rows = theta.chunks(3).map(row).collect::<Result<Vec<_>>>()?;
    Tensor::stack(&rows, -1)
}

fn sample(
    image: &Tensor,
    matrix: [f64; 6],
    to: [usize; 2],
    interpolation: InterpolationMode,
    fill: &[f64],
) -> Result<Tensor> {
    let [channels, height, width] = image_sizes("affine", image)?;
    let mut shape = image.shape().to_vec();
    if let [.., y, x] = &mut shape[..] {
        [*y, *x] = to;
    }
    if image.numel() == 0 {
        return image.reshape(shape);
    }
    let pixels =
        floats(image)?.reshape([-1, channels as isize, height as isize, width as isize])?;
    let grid = grid(matrix, [height, width], to, pixels.dtype())?;
    let read = |pixels: &Tensor| sample_places(pixels, &grid, interpolation);
    let sampled = match fill {
        [] => read(&pixels)?,
        fill => {
            let mask = pixels.narrow(1, 0..1)?.ones_like()?;
            let both = read(&Tensor::cat(&[pixels, mask], 1)?)?;
            let [sampled, mask] = both.split_array([channels, 1], 1)?;
            let fill = Tensor::from(fill)
                .to_dtype(sampled.dtype())?
                .reshape([1, -1, 1, 1])?;
            let fill = fill.to_device(&image.device())?;
            match interpolation {
                InterpolationMode::Nearest => mask
                    .lt(0.5)?
                    .where_(&fill.expand(sampled.shape())?, &sampled)?,
                InterpolationMode::Bilinear => sampled.sub(&fill)?.mul(&mask)?.add(&fill)?,
            }
        }
    };
    let sampled = match image.dtype() {
        DType::U8 => sampled.round()?.to_dtype(DType::U8)?,
        _ => sampled,
    };
    sampled.reshape(shape)
}
