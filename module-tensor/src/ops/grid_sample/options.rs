//! The options of `grid_sample`.

#[cfg(doc)]
use crate::Tensor;

pub use crate::backend::{GridPaddingMode, GridSampleMode};

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
