//! Rearranged elements: `flip`, `roll`, `tril`, `triu`, `repeat`, `diff`.

use std::iter::repeat_n;
use std::ops::RangeInclusive;

use smallvec::SmallVec;

use crate::backend::GatherDim;
use crate::layout::Dims;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Error, IntoSizes, Result, Shape};

impl Tensor {
    /// Reverses the order of the elements along `dims` (`..` for all).
    ///
    /// # Errors
    ///
    /// A dimension that is out of range or occurs twice.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.flip(1)?.to_vec::<i64>()?, [2, 1, 4, 3]);
    /// assert_eq!(x.flip(..)?.to_vec::<i64>()?, [4, 3, 2, 1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    #[doc(alias = "fliplr")]
    #[doc(alias = "flipud")]
    pub fn flip(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.flip_dims(&dims.into())
    }

    fn flip_dims(&self, dims: &Dims) -> Result<Self> {
        let dims = self.shape().dims("flip", dims)?;
        if self.numel() == 0 {
            // There may still be any number of rows.
            return Ok(self.alias());
        }
        let order = |dim| match dims.contains(&dim) {
            true => GatherDim::Flip,
            false => GatherDim::Same,
        };
        self.gather_dims("flip", (0..self.rank()).map(order).collect())
    }

    /// Shifts the elements by one of `shifts` along each of `dims` (`..` for all); those shifted out at the end reappear at
    /// the beginning.
    ///
    /// The shifts of a dimension that occurs twice add up. PyTorch's `roll` without dimensions is that of
    /// [`flatten`](Self::flatten)`(0, -1)`.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a tensor without dimensions, a number of shifts that is not that of dimensions.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 2, 3, 4]);
    /// assert_eq!(x.roll(1, 0)?.to_vec::<i64>()?, [4, 1, 2, 3]);
    /// assert_eq!(x.roll(-1, 0)?.to_vec::<i64>()?, [2, 3, 4, 1]);
    ///
    /// let x = Tensor::from([[1_i64, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.roll([1, -1], [0, 1])?.to_vec::<i64>()?, [5, 6, 4, 2, 3, 1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn roll(&self, shifts: impl IntoSizes, dims: impl Into<Dims>) -> Result<Self> {
        self.roll_dims(&shifts.into_sizes(), &dims.into())
    }

    fn roll_dims(&self, shifts: &[isize], dims: &Dims) -> Result<Self> {
        const NAME: &str = "roll";
        let dims: Vec<usize> = match dims {
            Dims::All => (0..self.rank()).collect(),
            Dims::Some(dims) => dims
                .iter()
                .map(|&dim| Ok(self.dim_and_size(NAME, dim)?.0))
                .collect::<Result<_>>()?,
        };
        if shifts.len() != dims.len() {
            let problem = format!("must be as many as the dimensions {dims:?}");
            let shifts = format_args!("{shifts:?}");
            return Err(Error::argument(NAME, "shifts", shifts, problem));
        }
        if self.numel() == 0 {
            return Ok(self.alias());
        }
        let mut totals = SmallVec::from_elem(0, self.rank());
        for (&dim, &shift) in dims.iter().zip(shifts) {
            let size = self.shape()[dim];
            // A size fits `isize`, like everything in memory.
            let shift = shift.rem_euclid(size as isize) as usize;
            totals[dim] = (totals[dim] + shift) % size;
        }
        self.roll_by(totals)
    }

    /// Shifts by less than the size along each dimension.
    fn roll_by(&self, shifts: SmallVec<[usize; 4]>) -> Result<Self> {
        let order = |&shift: &usize| match shift as isize {
            0 => GatherDim::Same,
            before => GatherDim::Circular {
                before,
                after: -before,
            },
        };
        let order = shifts.iter().map(order).collect();
        let out = self.detach().gather_dims("roll", order)?;
        Ok(out.record([self], |_| Roll { shifts }))
    }

    /// The elements of matrices on and below a diagonal, 0 above it.
    ///
    /// Diagonal 0 is the main one; positive ones are above it.
    ///
    /// # Errors
    ///
    /// Fewer than two dimensions.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.tril(0)?.to_vec::<i64>()?, [1, 0, 3, 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn tril(&self, diagonal: i64) -> Result<Self> {
        self.keep_band("tril", i64::MIN..=diagonal)
    }

    /// The elements of matrices on and above a diagonal, 0 below it.
    ///
    /// # Errors
    ///
    /// Those of [`tril`](Self::tril).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.triu(1)?.to_vec::<i64>()?, [0, 2, 0, 0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn triu(&self, diagonal: i64) -> Result<Self> {
        self.keep_band("triu", diagonal..=i64::MAX)
    }

    /// The elements of matrices whose column minus their row is in a band, and 0 elsewhere.
    fn keep_band(&self, name: &'static str, band: RangeInclusive<i64>) -> Result<Self> {
        if self.rank() < 2 {
            return Err(self.shape().error(name, "at least two dimensions"));
        }
        let backend = self.device().backend();
        let storage = backend.keep_band(self.plain(name)?, band.clone())?;
        Ok(self
            .like_shape(storage)
            .record([self], |_| Band { name, band }))
    }

    /// This tensor tiled `repeats` times along each dimension; more repeats than dimensions add leading dimensions.
    ///
    /// # Errors
    ///
    /// Fewer repeats than dimensions, a result that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 2]).repeat([2, 2])?;
    /// assert_eq!(x.shape().to_string(), "[2, 4]");
    /// assert_eq!(x.to_vec::<i64>()?, [1, 2, 1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "tile")]
    pub fn repeat(&self, repeats: impl Into<Shape>) -> Result<Self> {
        self.repeat_each(&repeats.into())
    }

    fn repeat_each(&self, repeats: &Shape) -> Result<Self> {
        const NAME: &str = "repeat";
        let Some(lead) = repeats.len().checked_sub(self.rank()) else {
            let problem = format!("has fewer numbers than shape {} sizes", self.shape());
            let repeats = format_args!("{repeats:?}");
            return Err(Error::argument(NAME, "repeats", repeats, problem));
        };
        let sizes = || repeat_n(1, lead).chain(self.shape().iter().copied());
        let pairs = || repeats.iter().copied().zip(sizes());
        let apart: Shape = pairs().flat_map(|(n, size)| [n, size]).collect();
        apart.checked_numel(NAME, self.dtype().size_in_bytes())?;
        // Each dimension gets a new one before it that is broadcast, and then both are merged.
        self.reshape_to(&sizes().flat_map(|size| [1, size]).collect())?
            .expand(apart)?
            .reshape_to(&pairs().map(|(n, size)| n * size).collect())
    }

    /// The differences of neighboring elements along `dim`, taken `n` times.
    ///
    /// Booleans differ where they are not equal.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a tensor without dimensions.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 4, 9]);
    /// assert_eq!(x.diff(1, 0)?.to_vec::<i64>()?, [3, 5]);
    /// assert_eq!(x.diff(2, 0)?.to_vec::<i64>()?, [2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn diff(&self, n: usize, dim: isize) -> Result<Self> {
        let (_, size) = self.dim_and_size("diff", dim)?;
        if n == 0 || size == 0 {
            return Ok(self.alias());
        }
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

/// A band of matrices, whose gradient is the same band.
struct Band {
    name: &'static str,
    band: RangeInclusive<i64>,
}

impl Function for Band {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().keep_band(self.name, self.band.clone())?)
    }
}

struct Roll {
    shifts: SmallVec<[usize; 4]>,
}

impl Function for Roll {
    fn name(&self) -> &'static str {
        "roll"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad();
        let sizes = self.shifts.iter().zip(grad.shape().iter());
        let back = sizes.map(|(&shift, &size)| (size - shift) % size);
        one(grad.roll_by(back.collect())?)
    }
}
