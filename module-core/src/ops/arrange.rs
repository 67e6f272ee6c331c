//! Other orders and parts of the same elements, by views, selections and masks.

use std::iter::repeat_n;

use crate::layout::Dims;
use crate::tensor::Tensor;
use crate::{DType, Error, Result, Shape};

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
        if self.numel() == 0 {
            // There may still be any number of rows.
            return Ok(self.clone());
        }
        let order = |(dim, &size): (usize, &usize)| -> Result<Vec<usize>> {
            crate::backend::host_room::<usize>(size)?;
            Ok(match dims.contains(&dim) {
                true => (0..size).rev().collect(),
                false => (0..size).collect(),
            })
        };
        let places: Result<Vec<_>> = self.shape().iter().enumerate().map(order).collect();
        self.taken("flip", places?.into())
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
        let (_, size) = self.dim_and_size("roll", dim)?;
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

    /// Views of `split_size` elements along `dim`, the last of what is left;
    /// [`split_with_sizes`](Self::split_with_sizes) takes a size for each.
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
    pub fn split(&self, split_size: usize, dim: isize) -> Result<Vec<Self>> {
        let (_, total) = self.dim_and_size("split", dim)?;
        if split_size == 0 {
            return Err(Error::argument(
                "split",
                "split_size",
                split_size,
                "must be positive",
            ));
        }
        if total == 0 {
            return Ok(vec![self.clone()]);
        }
        let parts = total.div_ceil(split_size);
        // The elements of a view may be far more than memory.
        crate::backend::host_room::<Self>(parts)?;
        let part = |i: usize| {
            let start = i * split_size;
            self.narrow(dim, start..start.saturating_add(split_size).min(total))
        };
        (0..parts).map(part).collect()
    }

    /// Views of these sizes along `dim`, one after the other.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a tensor without dimensions, sizes whose sum is not that of the
    /// dimension.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let parts = Tensor::from([1_i64, 2, 3, 4, 5]).split_with_sizes([1, 4], 0)?;
    /// assert_eq!(parts[1].to_vec::<i64>()?, [2, 3, 4, 5]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn split_with_sizes(&self, sizes: impl AsRef<[usize]>, dim: isize) -> Result<Vec<Self>> {
        const NAME: &str = "split_with_sizes";
        let (sizes, (_, total)) = (sizes.as_ref(), self.dim_and_size(NAME, dim)?);
        if sizes
            .iter()
            .try_fold(0, |sum: usize, &size| sum.checked_add(size))
            != Some(total)
        {
            let problem = format!("must add up to the {total} elements of the dimension");
            let sizes = format_args!("{sizes:?}");
            return Err(Error::argument(NAME, "sizes", sizes, problem));
        }
        let mut start = 0;
        let part = |&size: &usize| {
            let range = start..start + size;
            start += size;
            self.narrow(dim, range)
        };
        sizes.iter().map(part).collect()
    }

    /// Views along `dim`, `chunks` of them or fewer, all but the last of one size.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a tensor without dimensions, 0 chunks.
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
    pub fn chunk(&self, chunks: usize, dim: isize) -> Result<Vec<Self>> {
        let (_, total) = self.dim_and_size("chunk", dim)?;
        if chunks == 0 {
            return Err(Error::argument(
                "chunk",
                "chunks",
                chunks,
                "must be positive",
            ));
        }
        if total == 0 {
            // PyTorch keeps the number where there is nothing to divide.
            crate::backend::host_room::<Self>(chunks)?;
            return Ok(vec![self.clone(); chunks]);
        }
        self.split(total.div_ceil(chunks), dim)
    }

    /// The `N` views of [`chunk`](Self::chunk), as an array: `let [q, k, v] = x.chunk_array(-1)?`.
    ///
    /// # Errors
    ///
    /// Those of `chunk`; a dimension that gives fewer than `N` chunks.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let [a, b] = Tensor::from([1_i64, 2, 3, 4, 5]).chunk_array(0)?;
    /// assert_eq!(a.to_vec::<i64>()?, [1, 2, 3]);
    /// assert_eq!(b.to_vec::<i64>()?, [4, 5]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn chunk_array<const N: usize>(&self, dim: isize) -> Result<[Self; N]> {
        self.array_of("chunk_array", dim, self.chunk(N, dim)?)
    }

    /// The views of [`split_with_sizes`](Self::split_with_sizes), as an array of as many as there are
    /// sizes.
    ///
    /// # Errors
    ///
    /// Those of `split_with_sizes`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let [a, b] = Tensor::from([1_i64, 2, 3]).split_array([1, 2], 0)?;
    /// assert_eq!(a.to_vec::<i64>()?, [1]);
    /// assert_eq!(b.to_vec::<i64>()?, [2, 3]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn split_array<const N: usize>(&self, sizes: [usize; N], dim: isize) -> Result<[Self; N]> {
        self.array_of("split_array", dim, self.split_with_sizes(sizes, dim)?)
    }

    /// The slices of [`unbind`](Self::unbind), as an array of as many as the dimension has.
    ///
    /// # Errors
    ///
    /// Those of `unbind`; a dimension of another size than `N`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let [x, y] = Tensor::from([[1_i64, 2], [3, 4]]).unbind_array(1)?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 3]);
    /// assert_eq!(y.to_vec::<i64>()?, [2, 4]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn unbind_array<const N: usize>(&self, dim: isize) -> Result<[Self; N]> {
        const NAME: &str = "unbind_array";
        let (_, size) = self.dim_and_size(NAME, dim)?;
        if size != N {
            // Before as many views are made as a long dimension has.
            return Err(self.not_so_many(NAME, dim, size, N));
        }
        self.array_of(NAME, dim, self.unbind(dim)?)
    }

    fn array_of<const N: usize>(
        &self,
        op: &'static str,
        dim: isize,
        parts: Vec<Self>,
    ) -> Result<[Self; N]> {
        parts
            .try_into()
            .map_err(|parts: Vec<Self>| self.not_so_many(op, dim, parts.len(), N))
    }

    fn not_so_many(&self, op: &'static str, dim: isize, found: usize, wanted: usize) -> Error {
        let shape = self.shape();
        let problem = format!(
            "of shape {shape} gives {found} part(s), where an array of {wanted} is asked for"
        );
        Error::argument(op, "dim", dim, problem)
    }

    /// This tensor laid out side by side, `repeats` times along each dimension; more repeats than
    /// dimensions add dimensions in front.
    ///
    /// # Errors
    ///
    /// Fewer repeats than dimensions, a result that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 2]).repeat([2, 2])?;
    /// assert_eq!(x.shape().to_string(), "[2, 4]");
    /// assert_eq!(x.to_vec::<i64>()?, [1, 2, 1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn repeat(&self, repeats: impl AsRef<[usize]>) -> Result<Self> {
        const NAME: &str = "repeat";
        let repeats = repeats.as_ref();
        let Some(lead) = repeats.len().checked_sub(self.rank()) else {
            let problem = format!("has fewer numbers than shape {} sizes", self.shape());
            let repeats = format_args!("{repeats:?}");
            return Err(Error::argument(NAME, "repeats", repeats, problem));
        };
        let sizes = || repeat_n(1, lead).chain(self.shape().iter().copied());
        let pairs = || repeats.iter().copied().zip(sizes());
        let apart: Shape = pairs().flat_map(|(n, size)| [n, size]).collect();
        apart.checked_numel(NAME, self.dtype().size_in_bytes())?;
        // Each dimension behind a new one that is stretched, and then both as one.
        self.reshape_to(&sizes().flat_map(|size| [1, size]).collect())?
            .expand(apart)?
            .reshape_to(&pairs().map(|(n, size)| n * size).collect())
    }

    /// The differences of neighbours along `dim`, taken `n` times.
    ///
    /// Truth values differ where they are not equal.
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
    /// let x = Tensor::from([1_i64, 4, 9]);
    /// assert_eq!(x.diff(1, 0)?.to_vec::<i64>()?, [3, 5]);
    /// assert_eq!(x.diff(2, 0)?.to_vec::<i64>()?, [2]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn diff(&self, n: usize, dim: isize) -> Result<Self> {
        let (_, size) = self.dim_and_size("diff", dim)?;
        let mut out = self.clone();
        for left in (0..size).rev().take(n) {
            let (before, after) = (out.narrow(dim, 0..left)?, out.narrow(dim, 1..left + 1)?);
            out = match self.dtype() {
                DType::Bool => after.ne(&before)?,
                _ => after.sub(&before)?,
            };
        }
        Ok(out)
    }
}
