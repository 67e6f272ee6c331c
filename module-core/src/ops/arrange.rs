//! Other orders and parts of the same elements, by views, selections and masks.

use crate::layout::Dims;
use crate::tensor::Tensor;
use crate::{Error, Result};

impl Tensor {
    /// With the order of the elements reversed along `dims` (`..` for all).
    ///
    /// # Errors
    ///
    /// A dimension that is out of range or stands twice.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.flip(1)?.to_vec::<i64>()?, [2, 1, 4, 3]);
    /// assert_eq!(x.flip(..)?.to_vec::<i64>()?, [4, 3, 2, 1]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn flip(&self, dims: impl Into<Dims>) -> Result<Self> {
        let dims = self.shape().dims("flip", &dims.into())?;
        let mut out = self.clone();
        for &dim in dims.iter() {
            let last = self.shape()[dim] as i64 - 1;
            let order = Self::arange(0, last + 1)?.mul(-1)?.add(last)?;
            out = out.index_select(dim as isize, &order.to_device(&self.device())?)?;
        }
        Ok(out)
    }

    /// With the elements moved on by `shift` places along `dim`; those that leave at the end come in
    /// at the beginning.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a tensor without dimensions.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 2, 3, 4]);
    /// assert_eq!(x.roll(1, 0)?.to_vec::<i64>()?, [4, 1, 2, 3]);
    /// assert_eq!(x.roll(-1, 0)?.to_vec::<i64>()?, [2, 3, 4, 1]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn roll(&self, shift: isize, dim: isize) -> Result<Self> {
        let size = self.along("roll", dim)?;
        if size == 0 {
            return Ok(self.clone());
        }
        // A size fits `isize`, as does everything that is in memory.
        let cut = size - shift.rem_euclid(size as isize) as usize;
        let (before, after) = (self.narrow(dim, 0..cut)?, self.narrow(dim, cut..size)?);
        Self::cat(&[&after, &before], dim)
    }

    /// The elements of matrices on and below a diagonal, 0 above it.
    ///
    /// The diagonal 0 is the main one; positive ones lie above it.
    ///
    /// # Errors
    ///
    /// Fewer than two dimensions.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.tril(0)?.to_vec::<i64>()?, [1, 0, 3, 4]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn tril(&self, diagonal: i64) -> Result<Self> {
        self.triangle("tril", diagonal, |column, on| column.gt(on))
    }

    /// The elements of matrices on and above a diagonal, 0 below it.
    ///
    /// # Errors
    ///
    /// As [`tril`](Self::tril).
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.triu(1)?.to_vec::<i64>()?, [0, 2, 0, 0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn triu(&self, diagonal: i64) -> Result<Self> {
        self.triangle("triu", diagonal, |column, on| column.lt(on))
    }

    /// The elements, but 0 where the comparison of an element's column with that of the diagonal says
    /// that it lies outside.
    fn triangle(
        &self,
        name: &'static str,
        diagonal: i64,
        outside: impl Fn(&Self, &Self) -> Result<Self>,
    ) -> Result<Self> {
        let &[.., rows, columns] = &**self.shape() else {
            return Err(self.shape().error(name, "at least two dimensions"));
        };
        // Sizes fit `i64`, as does everything that is in memory. A diagonal that misses the matrix is
        // as good as the nearest that does.
        let (rows, columns) = (rows as i64, columns as i64);
        let diagonal = diagonal.clamp(-rows, columns);
        let column = Self::arange(0, columns)?.to_device(&self.device())?;
        let on_diagonal = Self::arange(diagonal, diagonal + rows)?.to_device(&self.device())?;
        self.masked_fill(&outside(&column, &on_diagonal.unsqueeze(1)?)?, 0)
    }

    /// Views of `size` elements along `dim`, the last of what is left.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a tensor without dimensions, a size of 0.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let parts = Tensor::from([1_i64, 2, 3, 4, 5]).split(2, 0)?;
    /// assert_eq!(parts.len(), 3);
    /// assert_eq!(parts[2].to_vec::<i64>()?, [5]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn split(&self, size: usize, dim: isize) -> Result<Vec<Self>> {
        let total = self.along("split", dim)?;
        if size == 0 {
            return Err(Error::argument("split", "size", size, "must be positive"));
        }
        if total == 0 {
            return Ok(vec![self.clone()]);
        }
        let parts = total.div_ceil(size);
        // The elements of a view may be far more than memory.
        crate::backend::host_room::<Self>(parts)?;
        let part = |i: usize| {
            let start = i * size;
            self.narrow(dim, start..start.saturating_add(size).min(total))
        };
        (0..parts).map(part).collect()
    }

    /// Views along `dim`, `count` of them or fewer, all but the last of one size.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a tensor without dimensions, a count of 0.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let parts = Tensor::from([1_i64, 2, 3, 4, 5]).chunk(2, 0)?;
    /// assert_eq!(parts[0].to_vec::<i64>()?, [1, 2, 3]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn chunk(&self, count: usize, dim: isize) -> Result<Vec<Self>> {
        let total = self.along("chunk", dim)?;
        if count == 0 {
            return Err(Error::argument("chunk", "count", count, "must be positive"));
        }
        if total == 0 {
            // PyTorch keeps the number where there is nothing to divide.
            crate::backend::host_room::<Self>(count)?;
            return Ok(vec![self.clone(); count]);
        }
        self.split(total.div_ceil(count), dim)
    }

    /// The size of a dimension to be cut.
    fn along(&self, op: &'static str, dim: isize) -> Result<usize> {
        let dim = self.shape().dim(op, dim)?;
        let size = self.shape().get(dim).copied();
        size.ok_or_else(|| self.shape().error(op, "at least one dimension"))
    }
}
