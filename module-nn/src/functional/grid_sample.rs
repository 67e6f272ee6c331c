use module_core::{GridSampleOptions, Result, Shape, Tensor};

/// Samples an image at the locations of a grid; see [`Tensor::grid_sample`].
///
/// # Errors
///
/// Those of [`Tensor::grid_sample`].
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{GridSampleOptions, affine_grid, grid_sample}};
///
/// let image = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]).reshape([1, 1, 2, 2])?;
/// let flip = Tensor::from([[-1.0_f32, 0.0, 0.0], [0.0, 1.0, 0.0]]).unsqueeze(0)?;
/// let grid = affine_grid(&flip, [1, 1, 2, 2])?;
/// let y = grid_sample(&image, &grid, GridSampleOptions::new())?;
/// assert_eq!(y.to_vec::<f32>()?, [2.0, 1.0, 4.0, 3.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn grid_sample(input: &Tensor, grid: &Tensor, options: GridSampleOptions) -> Result<Tensor> {
    input.grid_sample(grid, options)
}

/// The grid of an affine map for [`grid_sample`]; see [`Tensor::affine_grid`].
///
/// # Errors
///
/// Those of [`Tensor::affine_grid`].
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::affine_grid};
///
/// let theta = Tensor::from([[1.0_f32, 0.0, 0.0], [0.0, 1.0, 0.0]]).unsqueeze(0)?;
/// assert_eq!(affine_grid(&theta, [1, 3, 4, 5])?.shape().to_string(), "[1, 4, 5, 2]");
/// # Ok::<(), module_nn::Error>(())
/// ```
#[doc(alias = "affine_grid_generator")]
pub fn affine_grid(theta: &Tensor, size: impl Into<Shape>) -> Result<Tensor> {
    theta.affine_grid(size)
}

/// [`affine_grid`] with aligned corners; see [`Tensor::affine_grid_align_corners`].
///
/// # Errors
///
/// Those of [`Tensor::affine_grid`].
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::affine_grid_align_corners};
///
/// let theta = Tensor::from([[1.0_f32, 0.0, 0.0], [0.0, 1.0, 0.0]]).unsqueeze(0)?;
/// let grid = affine_grid_align_corners(&theta, [1, 1, 1, 2])?;
/// assert_eq!(grid.to_vec::<f32>()?, [-1.0, 0.0, 1.0, 0.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn affine_grid_align_corners(theta: &Tensor, size: impl Into<Shape>) -> Result<Tensor> {
    theta.affine_grid_align_corners(size)
}
