use std::fmt;

use module_core::module::Repr;
use module_core::{
    Error, Forward, InterpolateMode, InterpolateOptions, Module, Resize, Result, Tensor,
};

use crate::OneOrEach;
use crate::config::{Build, config};

/// Resizes the input; [`Tensor::interpolate`] describes the modes.
///
/// # Shapes
///
/// `[batch, channels, size…]` with one to three spatial dimensions, as the mode requires; each size becomes `size`, or
/// `⌊size · scale_factor⌋`.
///
/// # Errors
///
/// A number of dimensions that does not match the mode or the sizes, an empty input or output, a dtype that is not
/// floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::from([[[1.0_f32, 2.0]]]);
/// let linear: Upsample = UpsampleConfig::new().scale_factor(2.0).mode(InterpolateMode::Linear).build()?;
/// assert_eq!(linear.call(x)?.to_vec::<f32>()?, [1.0, 1.25, 1.75, 2.0]);
///
/// let x = Tensor::from([[[1.0_f32, 2.0, 4.0]]]);
/// let config = UpsampleConfig::new().size(5).mode(InterpolateMode::Linear).align_corners(true);
/// assert_eq!(config.build()?.call(x.clone())?.to_vec::<f32>()?, [1.0, 1.5, 2.0, 3.0, 4.0]);
/// // Three times 1.5 is 4, rounded down, so that the ratio of the sizes is only 4/3.
/// let config = UpsampleConfig::new().scale_factor(1.5).mode(InterpolateMode::Linear);
/// let by_factor = config.clone().recompute_scale_factor(false).build()?.call(x.clone())?;
/// let by_sizes = config.recompute_scale_factor(true).build()?.call(x)?;
/// assert!(!by_factor.equal(&by_sizes)?);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct Upsample {
    #[module(skip)]
    resizing: Resizing,
}

config! {
    /// The arguments of [`Upsample`], of which either `size` or `scale_factor` is given.
    pub struct UpsampleConfig => Upsample {
        optional {
            /// The sizes of the output, one for all dimensions or one for each.
            size: Option<OneOrEach<usize>> = None,
            /// The factor of the input sizes.
            scale_factor: Option<OneOrEach<f64>> = None,
            /// The interpolation mode.
            mode: InterpolateMode = InterpolateMode::Nearest,
            /// Whether the centers of the corner pixels of input and output are aligned, instead of their outer edges; for
            /// the linear and cubic modes.
            align_corners: Option<bool> = None,
            /// Whether to interpolate with the ratio of the sizes instead of the factor, which rounding may have changed.
            recompute_scale_factor: Option<bool> = None,
        }
    }
}

impl Build for UpsampleConfig {
    type Output = Upsample;

    /// The layer.
    ///
    /// # Errors
    ///
    /// Neither or both of `size` and `scale_factor`, a size of 0, a factor that is not positive and finite, `align_corners`
    /// for a mode without it, `recompute_scale_factor` without a factor.
    fn build(&self) -> Result<Upsample> {
        let resizing = Resizing::new("Upsample", self)?;
        Ok(Upsample { resizing })
    }
}

impl Upsample {
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.resizing.print(f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> UpsampleConfig {
        self.resizing.config.clone()
    }
}

impl Forward for Upsample {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.resizing.run(&input)
    }
}

/// The computation of this family of layers; the arguments have been checked.
pub(super) struct Resizing {
    pub(super) config: UpsampleConfig,
    options: InterpolateOptions,
    /// The printed form.
    by: String,
    recompute: bool,
}

impl Resizing {
    pub(super) fn new(layer: &'static str, config: &UpsampleConfig) -> Result<Self> {
        let UpsampleConfig {
            size,
            scale_factor,
            mode,
            align_corners,
            recompute_scale_factor,
        } = config;
        let (resize, by) = match (size, scale_factor) {
            (Some(size), None) => {
                if size.given().contains(&0) {
                    return Err(Error::argument(layer, "size", size, "must be at least 1"));
                }
                (Resize::Size(size.given().to_vec()), format!("size={size}"))
            }
            (None, Some(factor)) => {
                if !factor.given().iter().all(|&f| f.is_finite() && f > 0.0) {
                    let problem = "must be positive and finite";
                    return Err(Error::argument(layer, "scale_factor", factor, problem));
                }
                let by = format!("scale_factor={factor}");
                (Resize::ScaleFactor(factor.given().to_vec()), by)
            }
            (None, None) => {
                let problem = "either it or scale_factor must be given";
                return Err(Error::argument(layer, "size", "None", problem));
            }
            (Some(size), Some(factor)) => {
                let problem = format!("cannot be given together with scale_factor = {factor}");
                return Err(Error::argument(layer, "size", size, problem));
            }
        };
        use InterpolateMode::{Area, Nearest, NearestExact};
        if let (Some(given), Nearest | NearestExact | Area) = (align_corners, mode) {
            let (given, problem) = (Repr(given), format!("has no meaning for mode = {mode}"));
            return Err(Error::argument(layer, "align_corners", given, problem));
        }
        let recompute = recompute_scale_factor.unwrap_or(false);
        if recompute && size.is_some() {
            let problem = format!("has no meaning for {by}");
            let given = Repr(&recompute);
            return Err(Error::argument(
                layer,
                "recompute_scale_factor",
                given,
                problem,
            ));
        }
        let options = InterpolateOptions {
            resize,
            mode: *mode,
            align_corners: align_corners.unwrap_or(false),
            antialias: false,
        };
        Ok(Self {
            config: config.clone(),
            options,
            by,
            recompute,
        })
    }

    pub(super) fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, mode='{}'", self.by, self.options.mode)
    }

    pub(super) fn run(&self, input: &Tensor) -> Result<Tensor> {
        let (Resize::ScaleFactor(factors), true) = (&self.options.resize, self.recompute) else {
            return input.interpolate(&self.options);
        };
        let sizes = input.shape().iter().skip(2).enumerate();
        let to = sizes.map(|(d, &size)| {
            let factor = factors.get(if factors.len() == 1 { 0 } else { d });
            // If a factor is missing, the size is reported by the error below.
            factor.map_or(size, |factor| (size as f64 * factor) as usize)
        });
        let mut to: Vec<usize> = to.collect();
        if factors.len() > 1 {
            to.resize(factors.len(), 1);
        }
        let mut options = self.options.clone();
        options.resize = Resize::Size(to);
        input.interpolate(&options)
    }
}
