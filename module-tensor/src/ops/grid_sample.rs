//! `grid_sample`, which reads images at the locations of a grid, and `affine_grid`.

mod axis;
mod options;
mod sampling;
mod weights;

pub use options::{GridPaddingMode, GridSampleMode, GridSampleOptions};

use super::AutocastPolicy;
use super::fused::or_composed;
use axis::Axis;
use sampling::GridSample;

use crate::backend::GridSampleGeometry;
use crate::tensor::Tensor;
use crate::{Error, Result, Shape, ShapeError};

impl Tensor {
    /// Samples an image at the locations of a grid: `torch.nn.functional.grid_sample`.
    ///
    /// The last dimension of the grid holds a location as `(x, y)` or `(x, y, z)`: -1 and 1 are the borders of the image,
    /// which go through the centers of the outermost pixels if `align_corners`, otherwise along their outer edges. NaN in a
    /// grid gives NaN, where PyTorch may read arbitrary memory. In the mode `Nearest` the gradient of the grid is zero.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, h, w]` and a grid `[batch, h_out, w_out, 2]` give `[batch, channels, h_out, w_out]`; for volumes,
    /// one more dimension and a grid of 3.
    ///
    /// # Errors
    ///
    /// Other shapes, an image without pixels, bicubic in three dimensions, different dtypes or devices,
    /// a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{GridSampleOptions, Tensor};
    ///
    /// let image = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]).reshape([1, 1, 2, 2])?;
    /// let grid = Tensor::from([[0.0_f32, 0.0], [1.0, 1.0]]).reshape([1, 1, 2, 2])?;
    /// let y = image.grid_sample(&grid, GridSampleOptions::new().align_corners(true))?;
    /// assert_eq!(y.to_vec::<f32>()?, [2.5, 4.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias("grid_sampler", "grid_sampler_2d", "grid_sampler_3d"))]
    pub fn grid_sample(&self, grid: &Self, options: GridSampleOptions) -> Result<Self> {
        const NAME: &str = "grid_sample";
        if let Some(out) = AutocastPolicy::Float32.apply([self, grid], [], |[x, grid], []| {
            x.grid_sample(grid, options)
        }) {
            return out;
        }
        let GridSampleOptions {
            mode,
            padding_mode,
            align_corners,
        } = options;
        self.check_floating(NAME)?;
        self.check_same(NAME, grid)?;
        let (&[batch, channels, ref sizes @ ..], &[grids, ref out_sizes @ .., width]) =
            (&**self.shape(), &**grid.shape())
        else {
            let x = if self.rank() < 2 { self } else { grid };
            return Err(x
                .shape()
                .error(NAME, "[batch, channels, h, w] or one dimension more"));
        };
        let dims = sizes.len();
        if !(2..=3).contains(&dims) || sizes.contains(&0) {
            let expected = "[batch, channels, h, w] or [batch, channels, d, h, w] with pixels";
            return Err(self.shape().error(NAME, expected));
        }
        if grids != batch || width != dims || out_sizes.len() != dims {
            let (lhs, rhs) = (self.shape().clone(), grid.shape().clone());
            let rule = format!(
                "a grid [batch, size…, {dims}] must have {dims} sizes and the image's batch"
            );
            let op = NAME;
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
        if mode == GridSampleMode::Bicubic && dims == 3 {
            let problem = "serves images of two dimensions only; use bilinear";
            return Err(Error::argument(NAME, "mode", mode, problem));
        }
        let out: Shape = [batch, channels]
            .into_iter()
            .chain(out_sizes.iter().copied())
            .collect();
        out.checked_numel(NAME, size_of::<f64>())?;
        let locations = out_sizes.iter().product();
        // Each location has up to sixteen neighbors, some of whose steps are counted.
        Shape::from([batch, 64, locations]).checked_numel(NAME, size_of::<f64>())?;
        let geometry = GridSampleGeometry {
            batch,
            channels,
            sizes: sizes.to_vec(),
            locations,
            mode,
            padding_mode,
            align_corners,
        };
        let inner = sizes.iter().product();
        let sampling = GridSample {
            x: self.reshape_to(&[batch, channels, inner].into())?,
            grid: grid.reshape_to(&[batch, locations, dims].into())?,
            geometry,
        };
        let kernel = sampling.kernel();
        or_composed(kernel, || sampling.compose())?.reshape_to(&out)
    }

    /// The grid of an affine map for [`grid_sample`](Self::grid_sample), as
    /// `torch.nn.functional.affine_grid`: `theta · (x, y, 1)` of each pixel of an image of this size.
    ///
    /// # Shapes
    ///
    /// `theta` `[batch, 2, 3]` and a size `[batch, channels, h, w]` give `[batch, h, w, 2]`; `[batch, 3, 4]` and one more
    /// size give `[batch, d, h, w, 3]`.
    ///
    /// # Errors
    ///
    /// Other shapes, a size of 0, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let theta = Tensor::from([[1.0_f32, 0.0, 0.5], [0.0, 1.0, 0.0]]).unsqueeze(0)?;
    /// let grid = theta.affine_grid([1, 1, 1, 2])?;
    /// assert_eq!(grid.to_vec::<f32>()?, [0.0, 0.0, 1.0, 0.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn affine_grid(&self, size: impl Into<Shape>) -> Result<Self> {
        self.affine_grid_of(&size.into(), false)
    }

    /// [`affine_grid`](Self::affine_grid) in which -1 and 1 are the centers of the corner pixels:
    /// `align_corners=True`.
    ///
    /// # Errors
    ///
    /// Those of [`affine_grid`](Self::affine_grid).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let theta = Tensor::from([[1.0_f32, 0.0, 0.5], [0.0, 1.0, 0.0]]).unsqueeze(0)?;
    /// let grid = theta.affine_grid_align_corners([1, 1, 1, 2])?;
    /// assert_eq!(grid.to_vec::<f32>()?, [-0.5, 0.0, 1.5, 0.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn affine_grid_align_corners(&self, size: impl Into<Shape>) -> Result<Self> {
        self.affine_grid_of(&size.into(), true)
    }

    fn affine_grid_of(&self, size: &Shape, align_corners: bool) -> Result<Self> {
        const NAME: &str = "affine_grid";
        self.check_floating(NAME)?;
        let fail = |problem: String| {
            Err(Error::argument(
                NAME,
                "size",
                format_args!("{size:?}"),
                problem,
            ))
        };
        let &[batch, _, ref sizes @ ..] = &**size else {
            return fail("must be [batch, channels, h, w] or one number more".to_owned());
        };
        let dims = sizes.len();
        if !(2..=3).contains(&dims) || size.contains(&0) {
            let problem = "must be [batch, channels, h, w] or one number more, none of them 0";
            return fail(problem.to_owned());
        }
        if **self.shape() != [batch, dims, dims + 1] {
            let expected = format!("[{batch}, {dims}, {}] for the size {size:?}", dims + 1);
            return Err(self.shape().error(NAME, expected));
        }
        let grid: Shape = [batch]
            .into_iter()
            .chain(sizes.iter().copied())
            .chain([dims])
            .collect();
        grid.checked_numel(NAME, size_of::<f64>())?;
        let mut columns = Vec::with_capacity(dims + 1);
        for (d, &size) in sizes.iter().enumerate().rev() {
            let line = Axis {
                size,
                align_corners,
            }
            .coordinates(self)?;
            let mut shape = vec![1; dims];
            shape[d] = size;
            columns.push(line.reshape_to(&shape.into())?.expand(sizes)?);
        }
        columns.push(columns[0].ones_like()?);
        let base = Self::stack(&columns.iter().collect::<Vec<_>>(), -1)?;
        let base = base.reshape_to(&[sizes.iter().product(), dims + 1].into())?;
        let theta = self.widened()?.transpose(1, 2)?;
        base.matmul(&theta)?
            .reshape_to(&grid)?
            .to_dtype(self.dtype())
    }
}
