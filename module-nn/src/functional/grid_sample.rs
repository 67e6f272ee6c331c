use module_core::{GridPaddingMode, GridSampleMode, Result, Tensor};

/// An image read at the locations of a grid: [`Tensor::grid_sample`], which says how.
///
/// # Errors
///
/// Those of [`Tensor::grid_sample`].
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{GridPaddingMode, GridSampleMode, affine_grid, grid_sample}};
///
/// let image = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]).reshape([1, 1, 2, 2])?;
/// let flip = Tensor::from([[-1.0_f32, 0.0, 0.0], [0.0, 1.0, 0.0]]).unsqueeze(0)?;
/// let grid = affine_grid(&flip, &[1, 1, 2, 2], false)?;
/// let y = grid_sample(&image, &grid, GridSampleMode::Bilinear, GridPaddingMode::Zeros, false)?;
/// assert_eq!(y.to_vec::<f32>()?, [2.0, 1.0, 4.0, 3.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn grid_sample(
    input: &Tensor,
    grid: &Tensor,
    mode: GridSampleMode,
    padding_mode: GridPaddingMode,
    align_corners: bool,
) -> Result<Tensor> {
    input.grid_sample(grid, mode, padding_mode, align_corners)
}

/// The grid of an affine map for [`grid_sample`]: [`Tensor::affine_grid`], which says how.
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
/// assert_eq!(affine_grid(&theta, &[1, 3, 4, 5], false)?.shape().to_string(), "[1, 4, 5, 2]");
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn affine_grid(theta: &Tensor, size: &[usize], align_corners: bool) -> Result<Tensor> {
    theta.affine_grid(size, align_corners)
}
