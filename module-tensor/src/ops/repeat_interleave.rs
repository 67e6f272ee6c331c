//! `repeat_interleave`.

use std::iter::repeat_n;

use crate::backend::check_host_allocatable;
use crate::tensor::Tensor;
use crate::{DType, DTypeError, Error, Result, Shape};

/// The number of repetitions of each slice: one number for all, or a tensor with one for each.
///
/// # Example
///
/// ```
/// use module_tensor::{Repeats, Tensor};
///
/// let (x, counts) = (Tensor::from([1_i64, 2]), Tensor::from([3_i64, 1]));
/// let repeat = |repeats: Repeats<'_>| x.repeat_interleave(repeats, 0)?.to_vec::<i64>();
/// assert_eq!(repeat(Repeats::All(2))?, [1, 1, 2, 2]);
/// assert_eq!(repeat(Repeats::Each(&counts))?, [1, 1, 1, 2]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Repeats<'a> {
    /// The same number for each slice.
    All(usize),
    /// Integers, one for each slice, or a single one for all.
    Each(&'a Tensor),
}

impl From<usize> for Repeats<'_> {
    fn from(repeats: usize) -> Self {
        Self::All(repeats)
    }
}

impl<'a> From<&'a Tensor> for Repeats<'a> {
    fn from(repeats: &'a Tensor) -> Self {
        Self::Each(repeats)
    }
}

impl Tensor {
    /// Repeats each slice of dimension `dim` `repeats` times in succession; an integer tensor gives the number for each
    /// slice.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a tensor without dimensions, a result that exceeds memory; repeats that are not
    /// `I64` or `I32`, are negative, or do not match the number of slices.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 2]);
    /// assert_eq!(x.repeat_interleave(2, 0)?.to_vec::<i64>()?, [1, 1, 2, 2]);
    /// let repeats = Tensor::from([3_i64, 1]);
    /// assert_eq!(x.repeat_interleave(&repeats, 0)?.to_vec::<i64>()?, [1, 1, 1, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn repeat_interleave<'a>(
        &self,
        repeats: impl Into<Repeats<'a>>,
        dim: isize,
    ) -> Result<Self> {
        self.repeat_rows(repeats.into(), dim)
    }

    fn repeat_rows(&self, repeats: Repeats<'_>, dim: isize) -> Result<Self> {
        const NAME: &str = "repeat_interleave";
        let (dim, size) = self.dim_and_size(NAME, dim)?;
        check_host_allocatable::<usize>(size)?;
        let counts = match repeats {
            Repeats::All(count) => repeat_n(count, size).collect(),
            Repeats::Each(counts) => self.counts(NAME, counts, size)?,
        };
        let length = counts
            .iter()
            .fold(0, |sum: usize, &n| sum.saturating_add(n));
        Shape::from(length).checked_numel(NAME, size_of::<i64>())?;
        check_host_allocatable::<i64>(length)?;
        let mut indices: Vec<i64> = Vec::with_capacity(length);
        for (index, n) in (0..).zip(counts) {
            indices.resize(indices.len() + n, index);
        }
        let indices = Self::from_vec(indices, length)?;
        self.index_select(dim as isize, &indices.to_device(&self.device())?)
    }

    /// Reads the number of repetitions of each of `size` slices from a tensor.
    fn counts(&self, op: &'static str, counts: &Self, size: usize) -> Result<Vec<usize>> {
        self.check_device(op, counts)?;
        let dtype = counts.dtype();
        if !matches!(dtype, DType::I64 | DType::I32) {
            let needs = "int64 or int32 repeats";
            return Err(DTypeError::Unsupported { op, dtype, needs }.into());
        }
        let fits = counts.rank() < 2 && (counts.numel() == 1 || counts.numel() == size);
        if !fits {
            let expected = format!("one number, or one for each of {size} slices");
            return Err(counts.shape().error(op, &expected));
        }
        let values = counts.to_dtype(DType::I64)?.to_vec::<i64>()?;
        let count = |&n: &i64| {
            let negative = || Error::argument(op, "repeats", n, "must not be negative");
            usize::try_from(n).map_err(|_| negative())
        };
        let counts: Vec<usize> = values.iter().map(count).collect::<Result<_>>()?;
        match *counts {
            [n] => Ok(vec![n; size]),
            _ => Ok(counts),
        }
    }
}
