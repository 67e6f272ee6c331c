//! Resizing images: `interpolate`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::linear_map::LinearMap;
use crate::backend::{PoolDivisor, PoolGeometry, PoolWindows, ResampleGeometry, ResampleMode};
use crate::tensor::Tensor;
use crate::{Error, Result, Shape};

/// The mode of [`Tensor::interpolate`]; it prints as PyTorch names it.
///
/// # Example
///
/// ```
/// use module_tensor::InterpolateMode;
///
/// let mode: InterpolateMode = serde_json::from_str("\"nearest-exact\"")?;
/// assert_eq!(mode, InterpolateMode::NearestExact);
/// assert_eq!(mode.to_string(), "nearest-exact");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterpolateMode {
    /// The input pixel that contains the start of the output pixel; one to three dimensions.
    #[default]
    Nearest,
    /// The input pixel that contains the center of the output pixel; one to three dimensions.
    NearestExact,
    /// Linear interpolation between two pixels; one dimension.
    Linear,
    /// Linear interpolation in two dimensions.
    Bilinear,
    /// Linear interpolation in three dimensions.
    Trilinear,
    /// Cubic interpolation of four pixels, with `A = -0.75`; two dimensions.
    Bicubic,
    /// The mean of the input pixels that the output pixel covers; one to three dimensions.
    Area,
}

impl fmt::Display for InterpolateMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nearest => "nearest",
            Self::NearestExact => "nearest-exact",
            Self::Linear => "linear",
            Self::Bilinear => "bilinear",
            Self::Trilinear => "trilinear",
            Self::Bicubic => "bicubic",
            Self::Area => "area",
        })
    }
}

/// The target size of [`Tensor::interpolate`]; one number is used for all dimensions.
#[derive(Clone, Debug, PartialEq)]
pub enum Resize {
    /// The size of the output.
    Size(Vec<usize>),
    /// The factor of the input size; the product is rounded down.
    ScaleFactor(Vec<f64>),
}

/// The options of [`Tensor::interpolate`], with PyTorch's names and defaults.
///
/// # Example
///
/// ```
/// use module_tensor::{InterpolateMode, InterpolateOptions, Resize, Tensor};
///
/// let options = InterpolateOptions::size([1, 2]).mode(InterpolateMode::Bilinear);
/// assert_eq!(options.resize, Resize::Size(vec![1, 2]));
///
/// // Antialiased pixels are means of all that they cover, beyond the two nearest.
/// let x = Tensor::from([0.0_f32, 4.0, 0.0, 4.0]).reshape([1, 1, 1, 4])?;
/// let resize = |options: &InterpolateOptions| x.interpolate(options)?.to_vec::<f32>();
/// assert_eq!(resize(&options)?, [2.0, 2.0]);
/// let means = resize(&options.clone().antialias(true))?;
/// assert!((means[0] - 12.0 / 7.0).abs() < 1e-6 && (means[1] - 16.0 / 7.0).abs() < 1e-6);
/// assert_eq!(resize(&options.align_corners(true))?, [0.0, 4.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InterpolateOptions {
    /// The size of the output.
    pub resize: Resize,
    /// The interpolation mode.
    pub mode: InterpolateMode,
    /// Whether the centers of the corner pixels of input and output are aligned rather than their outer
    /// edges; for the linear modes and the cubic one.
    pub align_corners: bool,
    /// Whether a pixel of a smaller image is a weighted mean of all pixels that it covers, as in Pillow; for the bilinear
    /// mode and the cubic one, which then has `A = -0.5`.
    pub antialias: bool,
}

impl InterpolateOptions {
    /// Resizes to this size, by the nearest pixels.
    pub fn size(size: impl Into<Shape>) -> Self {
        Self {
            resize: Resize::Size(size.into().to_vec()),
            mode: InterpolateMode::default(),
            align_corners: false,
            antialias: false,
        }
    }

    /// Resizes by this factor, by the nearest pixels.
    pub fn scale_factor(factor: impl Into<Vec<f64>>) -> Self {
        Self {
            resize: Resize::ScaleFactor(factor.into()),
            mode: InterpolateMode::default(),
            align_corners: false,
            antialias: false,
        }
    }

    /// Sets the interpolation mode.
    #[must_use]
    pub fn mode(mut self, mode: InterpolateMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets whether the centers of the corner pixels are aligned.
    #[must_use]
    pub fn align_corners(mut self, align_corners: bool) -> Self {
        self.align_corners = align_corners;
        self
    }

    /// Sets whether a smaller image is antialiased.
    #[must_use]
    pub fn antialias(mut self, antialias: bool) -> Self {
        self.antialias = antialias;
        self
    }
}

impl InterpolateMode {
    /// The supported numbers of spatial dimensions.
    fn dims(self) -> std::ops::RangeInclusive<usize> {
        match self {
            Self::Linear => 1..=1,
            Self::Bilinear | Self::Bicubic => 2..=2,
            Self::Trilinear => 3..=3,
            Self::Nearest | Self::NearestExact | Self::Area => 1..=3,
        }
    }
}

impl Tensor {
    /// Resizes an image: `torch.nn.functional.interpolate`.
    ///
    /// Pixel `i` of the output is at `(i + ½)·scale - ½` of the input, or at `i·(size - 1)/(out - 1)` if corners are
    /// aligned; `scale` is the reciprocal of the scale factor if that is given, otherwise the ratio of the sizes. Beyond
    /// the border the last pixel is repeated. As in PyTorch, [`Nearest`](InterpolateMode::Nearest) over two dimensions
    /// ignores the factor where the output is as large as the input, or twice as large.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, size…]` with one to three spatial dimensions, as the mode requires.
    ///
    /// # Errors
    ///
    /// A mode that does not support the number of dimensions, a size or factor for too many or too few dimensions, an empty
    /// input or output, aligned corners or antialiasing for a mode without them, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{InterpolateMode, InterpolateOptions, Tensor};
    ///
    /// let x = Tensor::from([1.0_f32, 2.0]).reshape([1, 1, 2])?;
    /// let nearest = x.interpolate(&InterpolateOptions::scale_factor([2.0]))?;
    /// assert_eq!(nearest.to_vec::<f32>()?, [1.0, 1.0, 2.0, 2.0]);
    /// let linear = InterpolateOptions::size([4]).mode(InterpolateMode::Linear);
    /// assert_eq!(x.interpolate(&linear)?.to_vec::<f32>()?, [1.0, 1.25, 1.75, 2.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias("upsample", "upsample_bilinear", "upsample_nearest"))]
    pub fn interpolate(&self, options: &InterpolateOptions) -> Result<Self> {
        use InterpolateMode as Mode;
        const NAME: &str = "interpolate";
        self.check_floating(NAME)?;
        let mode = options.mode;
        let dims = self.rank().saturating_sub(2);
        if !mode.dims().contains(&dims) {
            let (low, high) = mode.dims().into_inner();
            let expected = format!(
                "[batch, channels, size…] with {} for mode = {mode:?}",
                match low == high {
                    true => format!("{low} spatial dimension(s)"),
                    false => format!("{low} to {high} spatial dimensions"),
                }
            );
            return Err(self.shape().error(NAME, expected));
        }
        let corners = !matches!(mode, Mode::Nearest | Mode::NearestExact | Mode::Area);
        if options.align_corners && !corners {
            let problem = format!("has no meaning for mode = {mode:?}");
            return Err(Error::argument(NAME, "align_corners", true, problem));
        }
        if options.antialias && !matches!(mode, Mode::Bilinear | Mode::Bicubic) {
            let problem = format!("serves Bilinear and Bicubic, not mode = {mode:?}");
            return Err(Error::argument(NAME, "antialias", true, problem));
        }
        let is_nearest_of_image = mode == Mode::Nearest && dims == 2;
        let mut sizes = [0; 3];
        let mut scale = Vec::with_capacity(dims);
        for (d, &size) in self.shape()[2..].iter().enumerate() {
            let (to, factor) = options.resize.of(d, dims, size)?;
            if size == 0 || to == 0 {
                let expected = format!(
                    "sizes that are not 0, to be brought to {:?}",
                    options.resize
                );
                return Err(self.shape().error(NAME, expected));
            }
            sizes[d] = to;
            scale.push(match factor {
                _ if options.align_corners && to > 1 => (size - 1) as f64 / (to - 1) as f64,
                _ if options.align_corners => 0.0,
                // Like PyTorch, which repeats whole pixels of images, whatever fraction of a pixel the factor adds.
                Some(_) if is_nearest_of_image && (to == size || to == 2 * size) => {
                    size as f64 / to as f64
                }
                Some(factor) => factor.recip(),
                None => size as f64 / to as f64,
            });
        }
        let input = self.shape().clone();
        let sizes = sizes.into_iter().take(dims);
        let output = input.iter().copied().take(2).chain(sizes).collect();
        let align_corners = options.align_corners;
        let mode = match mode {
            Mode::Area => {
                let windows = PoolWindows::Adaptive;
                let geometry = PoolGeometry {
                    input,
                    output,
                    windows,
                };
                return self.apply_map(NAME, LinearMap::AvgPool(geometry, PoolDivisor::Inside));
            }
            Mode::Nearest => ResampleMode::Nearest,
            Mode::NearestExact => ResampleMode::NearestExact,
            Mode::Bilinear if options.antialias => ResampleMode::AntialiasedLinear,
            Mode::Bicubic if options.antialias => ResampleMode::AntialiasedCubic,
            Mode::Linear | Mode::Bilinear | Mode::Trilinear => {
                ResampleMode::Linear { align_corners }
            }
            Mode::Bicubic => ResampleMode::Cubic { align_corners },
        };
        let geometry = ResampleGeometry {
            input,
            output,
            mode,
            scale,
        };
        self.apply_map(NAME, LinearMap::Resample(geometry))
    }
}

impl Resize {
    /// The size of dimension `d` of the output, and the factor if one was given.
    fn of(&self, d: usize, dims: usize, size: usize) -> Result<(usize, Option<f64>)> {
        let count = match self {
            Self::Size(sizes) => sizes.len(),
            Self::ScaleFactor(factors) => factors.len(),
        };
        let problem = |name, value: String, problem| {
            Err(Error::argument("interpolate", name, value, problem))
        };
        let (d, wrong) = (
            if count == 1 { 0 } else { d },
            format!("must be one number or {dims}"),
        );
        match self {
            Self::Size(sizes) => match sizes.get(d) {
                Some(&to) if count == 1 || count == dims => Ok((to, None)),
                _ => problem("size", format!("{sizes:?}"), wrong),
            },
            Self::ScaleFactor(factors) => match factors.get(d) {
                Some(&factor) if count == 1 || count == dims => {
                    if !(factor.is_finite() && factor > 0.0) {
                        let wrong = "must be positive and finite".to_owned();
                        return problem("scale_factor", format!("{factors:?}"), wrong);
                    }
                    // An overflowing product saturates, and is then refused.
                    Ok(((size as f64 * factor) as usize, Some(factor)))
                }
                _ => problem("scale_factor", format!("{factors:?}"), wrong),
            },
        }
    }
}
