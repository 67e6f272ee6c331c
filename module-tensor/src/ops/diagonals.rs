//! `diag` and `diag_embed`.

use crate::layout::Layout;
use crate::tensor::Tensor;
use crate::{Error, Result, Shape};

impl Tensor {
    /// Matrices of zeros with the vectors of the last dimension on a diagonal, `offset` above the main
    /// one (below if negative); `dim1` and `dim2` are the rows and columns in the result. PyTorch's
    /// defaults are 0, -2 and -1.
    ///
    /// # Shapes
    ///
    /// `[…, n]` to `[…, n + |offset|, n + |offset|]`, with the last two at `dim1` and `dim2`.
    ///
    /// # Errors
    ///
    /// No dimensions, a dimension that is out of range, one dimension twice, a shape that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 2]);
    /// assert_eq!(x.diag_embed(0, -2, -1)?.to_vec::<i64>()?, [1, 0, 0, 2]);
    /// assert_eq!(x.diag_embed(1, 0, 1)?.to_vec::<i64>()?, [0, 1, 0, 0, 0, 2, 0, 0, 0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn diag_embed(&self, offset: isize, dim1: isize, dim2: isize) -> Result<Self> {
        const NAME: &str = "diag_embed";
        let Some((&length, batch)) = self.shape().split_last() else {
            return Err(self.shape().error(NAME, "at least one dimension"));
        };
        let down = offset.unsigned_abs();
        let size = length.saturating_add(down);
        let whole: Shape = batch.iter().copied().chain([size, size]).collect();
        let (rows, columns) = (whole.dim(NAME, dim1)?, whole.dim(NAME, dim2)?);
        if rows == columns {
            let problem = "is the same dimension as `dim1`";
            return Err(Error::argument(NAME, "dim2", dim2, problem));
        }
        let mut others = batch.iter().copied();
        let size_at = |d| match d == rows || d == columns {
            true => size,
            false => others.next().unwrap_or(1),
        };
        let shape: Shape = (0..whole.rank()).map(size_at).collect();
        // Checked before strides are computed.
        shape.checked_numel(NAME, self.dtype().size_in_bytes())?;
        let start = if offset < 0 { [down, 0] } else { [0, down] };
        let layout = Layout::contiguous(shape.clone()).diagonal([rows, columns], start, length);
        self.as_strided_scatter(&shape, &layout, 0.into())
    }

    /// The matrix with a vector on a diagonal, or the diagonal of a matrix; `diagonal` counts from the main
    /// one upward.
    ///
    /// # Errors
    ///
    /// Other than one or two dimensions, a shape that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 2]).diag(0)?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 0, 0, 2]);
    /// assert_eq!(x.diag(0)?.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn diag(&self, diagonal: isize) -> Result<Self> {
        match self.rank() {
            1 => self.diag_embed(diagonal, 0, 1),
            2 => self.diagonal(diagonal, 0, 1),
            _ => Err(self.shape().error("diag", "a vector or a matrix")),
        }
    }
}
