//! The options of `grid_sample`.

use std::fmt;

#[cfg(doc)]
use crate::Tensor;

/// The interpolation of [`Tensor::grid_sample`] between pixels; it prints as PyTorch names it.
///
/// # Example
///
/// ```
/// use module_tensor::GridSampleMode;
///
/// assert_eq!(GridSampleMode::default().to_string(), "bilinear");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GridSampleMode {
    /// Linear interpolation between the two neighboring pixels of each dimension.
    #[default]
    Bilinear,
    /// The nearest pixel; halfway between two, the one with the even index.
    Nearest,
    /// Cubic interpolation of four pixels in each dimension, with `A = -0.75`; two dimensions.
    Bicubic,
}

impl fmt::Display for GridSampleMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bilinear => "bilinear",
            Self::Nearest => "nearest",
            Self::Bicubic => "bicubic",
        })
    }
}

/// The values that [`Tensor::grid_sample`] reads outside the image; it prints as PyTorch names it.
///
/// # Example
///
/// ```
/// use module_tensor::GridPaddingMode;
///
/// assert_eq!(GridPaddingMode::default().to_string(), "zeros");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GridPaddingMode {
    /// Zeros.
    #[default]
    Zeros,
    /// The nearest pixel of the image.
    Border,
    /// The image reflected at its border.
    Reflection,
}

impl fmt::Display for GridPaddingMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zeros => "zeros",
            Self::Border => "border",
            Self::Reflection => "reflection",
        })
    }
}

crate::options! {
    /// The options of [`Tensor::grid_sample`], with PyTorch's names and defaults.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{GridPaddingMode, GridSampleMode, GridSampleOptions, Tensor};
    ///
    /// // A location far outside.
    /// let image = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]).reshape([1, 1, 2, 2])?;
    /// let grid = Tensor::from([5.0_f32, 5.0]).reshape([1, 1, 1, 2])?;
    /// let sample = |options| image.grid_sample(&grid, options)?.item::<f32>();
    /// assert_eq!(sample(GridSampleOptions::new().mode(GridSampleMode::Nearest))?, 0.0);
    /// let border = GridSampleOptions::new().padding_mode(GridPaddingMode::Border);
    /// assert_eq!(sample(border)?, 4.0);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct GridSampleOptions {
        optional {
            /// The interpolation mode.
            mode: GridSampleMode = GridSampleMode::Bilinear,
            /// The values outside the image.
            padding_mode: GridPaddingMode = GridPaddingMode::Zeros,
            /// Whether -1 and 1 are the centers of the corner pixels rather than their outer edges.
            align_corners: bool = false,
        }
    }
}
